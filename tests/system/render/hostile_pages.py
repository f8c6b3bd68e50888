"""Pages that mean harm, a name and a page each. `INSIDE` stands for the address of a listener that nobody may reach.

Add a page here and nothing else: every one is shown by the same test, which asks the same of all of them.
"""

_SCRIPTS = {
    "blob frames": "for (let i = 0; i < 50; i++) frame(blob(`<script>fetch('INSIDE')<\\/script>frame`))",
    "data frames": "for (let i = 0; i < 50; i++) frame(`data:text/html,<script>fetch('INSIDE')<\\/script>frame`)",
    "frames in frames": """
        let inner = document;
        for (let i = 0; i < 300; i++) {
          const made = inner.createElement('iframe');
          inner.body.append(made);
          inner = made.contentDocument;
        }
        inner.body.innerHTML = '<img src="INSIDE">';
    """,
    "frames of other sites": "for (let i = 0; i < 200; i++) frame(`http://198.51.100.${i}/`)",
    "a frame that frames itself": "frame(location.href + '?' + Math.random())",
    "a document that grows": """
        (function grow() { for (let i = 0; i < 500; i++) app.append(document.createElement('p')); setTimeout(grow) })()
    """,
    "attributes that grow": "for (let i = 0; i < 20; i++) app.setAttribute('data-' + i, 'x'.repeat(1e6))",
    "a deep tree": "let at = app; for (let i = 0; i < 50_000; i++) at = at.appendChild(document.createElement('b'))",
    "document.write without end": "(function write() { document.write('the text <p>'); setTimeout(write) })()",
    "microtasks without end": "onload = () => setTimeout(() => (function f() { Promise.resolve().then(f) })(), 10)",
    "mutations without end": """
        new MutationObserver(() => app.setAttribute('a', Math.random())).observe(app, {attributes: true});
        onload = () => setTimeout(() => app.setAttribute('a', 1), 10);
    """,
    "web assembly without end": """
        const code = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0,
          10, 9, 1, 7, 0, 3, 64, 12, 0, 11, 11]);
        const made = new WebAssembly.Instance(new WebAssembly.Module(code));
        onload = () => setTimeout(made.exports.f, 10);
    """,
    "web assembly memory": "for (let i = 0; i < 40; i++) new WebAssembly.Memory({initial: 1000, maximum: 2000})",
    "a regular expression": "onload = () => setTimeout(() => /^(a+)+$/.test('a'.repeat(40) + 'b'), 10)",
    "shared workers": "for (let i = 0; i < 20; i++) new SharedWorker(blob(`fetch('INSIDE'); while (true) {} //${i}`))",
    "workers that make workers": """
        const code = `fetch('INSIDE'); for (let i = 0; i < 20; i++) new Worker(self.location.href)`;
        new Worker(blob(code));
    """,
    "module workers": "new Worker(blob(`import 'INSIDE'; while (true) {}`), {type: 'module'})",
    "a worker on a canvas": """
        const canvas = document.createElement('canvas').transferControlToOffscreen();
        const code = `onmessage = () => { (function f() { requestAnimationFrame(f) })() }`;
        new Worker(blob(code)).postMessage(canvas, [canvas]);
    """,
    "worklets": "CSS.paintWorklet && CSS.paintWorklet.addModule('INSIDE').catch(() => {})",
    "an audio worklet": "new AudioContext().audioWorklet.addModule(blob('while (true) {}')).catch(() => {})",
    "modules": "import('INSIDE').catch(() => {}); import('data:text/javascript,while(true){}').catch(() => {})",
    "a body without end": """
        const body = new ReadableStream({pull(to) { to.enqueue(new Uint8Array(65536)) }});
        fetch('/up', {method: 'POST', body, duplex: 'half'}).catch(() => {});
        new Response(new ReadableStream({pull(to) { to.enqueue(new Uint8Array(65536)) }})).text();
    """,
    "a large post": "fetch('/up', {method: 'POST', body: 'x'.repeat(1e7)}).catch(() => {})",
    "addresses without end": "for (let i = 0; i < 5_000; i++) history.pushState({}, '', '/at/' + i)",
    "hashes without end": "(function f() { location.hash = Math.random(); setTimeout(f) })()",
    "goes on and on": "location.href = '/' + Math.random()",
    "reloads": "onload = () => location.reload()",
    "goes back and forth": "history.pushState({}, '', '/a'); onpopstate = () => history.forward(); history.back()",
    "prints": "for (let i = 0; i < 50; i++) print()",
    "stays": "onbeforeunload = () => 'stay'; onpagehide = onunload = () => { while (true) {} }",
    "talks as it leaves": "onpagehide = () => { alert(1); navigator.sendBeacon('INSIDE', 'x') }",
    "windows": "for (let i = 0; i < 100; i++) { const l = link('INSIDE'); l.target = 'w' + i; l.click() }",
    "windows of frames": """
        const inner = document.createElement('iframe');
        document.body.append(inner);
        for (let i = 0; i < 50; i++) inner.contentWindow.open('INSIDE');
    """,
    "forms": """
        for (let i = 0; i < 50; i++) {
          const form = document.createElement('form');
          Object.assign(form, {method: 'post', action: 'INSIDE', target: 'f' + i});
          document.body.append(form);
          form.submit();
        }
    """,
    "web transport": "new WebTransport('INSIDE'.replace('http:', 'https:')).ready.catch(() => {})",
    "web sockets": "for (let i = 0; i < 100; i++) new WebSocket('INSIDE'.replace('http', 'ws'))",
    "event sources": "for (let i = 0; i < 100; i++) new EventSource('INSIDE?' + i)",
    "beacons": "for (let i = 0; i < 100; i++) navigator.sendBeacon('INSIDE', 'x'.repeat(1000))",
    "a fetch that outlives its page": "for (let i = 0; i < 50; i++) fetch('INSIDE', {keepalive: true}).catch(() => {})",
    "a late fetch": "window.fetchLater && fetchLater('INSIDE', {activateAfter: 0})",
    "peers": """
        for (let i = 0; i < 30; i++) {
          const peer = new RTCPeerConnection({iceServers: [{urls: 'INSIDE'.replace('http://', 'stun:').slice(0, -1)}]});
          peer.createDataChannel('x');
          peer.createOffer().then((offer) => peer.setLocalDescription(offer));
        }
    """,
    "what the machine has": """
        navigator.geolocation.getCurrentPosition(() => {}, () => {});
        navigator.mediaDevices && navigator.mediaDevices.getUserMedia({video: true}).catch(() => {});
        Notification.requestPermission().catch(() => {});
        for (const name of ['usb', 'bluetooth', 'serial', 'hid'])
          try { navigator[name].requestDevice({filters: []}).catch(() => {}) } catch (error) {}
        window.showOpenFilePicker && showOpenFilePicker().catch(() => {});
        document.documentElement.requestFullscreen().catch(() => {});
        app.requestPointerLock && app.requestPointerLock();
    """,
    "what the browser keeps": """
        caches && caches.open('x').then((to) => to.put('/x', new Response('x'.repeat(1e7)))).catch(() => {});
        indexedDB.open('x').onsuccess = () => {};
        try { for (let i = 0; ; i++) localStorage.setItem(i, 'x'.repeat(1e6)) } catch (error) {}
    """,
    "files": """
        for (const url of ['file:///etc/passwd', 'chrome://version', 'view-source:INSIDE']) {
          frame(url);
          link(url).click();
        }
    """,
    "goes to a file": "location.href = 'file:///etc/passwd'",
    "goes to the browser's own pages": "location.href = 'chrome://crash/'",
    "downloads": """
        for (let i = 0; i < 50; i++) Object.assign(link('data:application/zip,x'), {download: 'x' + i}).click();
    """,
    "a name and a password": """
        const url = 'INSIDE'.replace('//', '//a:b@');
        fetch(url).catch(() => {});
        frame(url);
    """,
    "messages to itself": "onmessage = () => postMessage(1, '*'); postMessage(1, '*')",
    "channels": """
        const a = new BroadcastChannel('x'), b = new BroadcastChannel('x');
        b.onmessage = () => a.postMessage(1);
        a.onmessage = () => b.postMessage(1);
        a.postMessage(1);
    """,
    "locks": "navigator.locks && navigator.locks.request('x', () => new Promise(() => {}))",
    "waits for ever": "onload = () => setTimeout(() => { const end = Date.now() + 1e9; while (Date.now() < end); })",
    "lies about itself": """
        Object.defineProperty(Document.prototype, 'documentElement', {get: () => { while (true) {} }});
        Object.defineProperty(Element.prototype, 'outerHTML', {get: () => { while (true) {} }});
        Element.prototype.querySelectorAll = Document.prototype.querySelectorAll = () => { while (true) {} };
    """,
    "claims to watch": "window[Symbol.for('gateway')]; addEventListener('scroll', () => { while (true) {} })",
    "animations": """
        const steps = [{opacity: 0}, {opacity: 1}];
        for (let i = 0; i < 2_000; i++) app.animate(steps, {duration: 1, iterations: Infinity});
    """,
}

_HEADS = {
    "a refresh to inside": '<meta http-equiv="refresh" content="0;url=INSIDE">',
    "refreshes without end": '<meta http-equiv="refresh" content="0">',
    "speculation rules": """<script type="speculationrules">
        {"prerender": [{"urls": ["INSIDE", "/x"], "eagerness": "immediate"}],
         "prefetch": [{"urls": ["INSIDE", "/y"], "eagerness": "immediate"}]}</script>""",
    "an import map": """<script type="importmap">{"imports": {"x": "INSIDE"}}</script>
        <script type="module">import "x"</script>""",
    "hints": """<link rel="preconnect" href="INSIDE"><link rel="dns-prefetch" href="//inside.example">
        <link rel="prefetch" href="INSIDE"><link rel="prerender" href="INSIDE"><link rel="modulepreload" href="INSIDE">
        <link rel="manifest" href="INSIDE"><link rel="icon" href="INSIDE">
        <link rel="expect" blocking="render" href="#x">""",
    "client hints": '<meta http-equiv="accept-ch" content="device-memory, sec-ch-ua-full-version-list, dpr">',
    "a base elsewhere": '<base href="INSIDE"><script src="x.js"></script>',
    "a policy that reports": """<meta http-equiv="content-security-policy" content="img-src 'none'; report-uri INSIDE">
        <img src="/x.png">""",
    "styles that load": """<style>@import "INSIDE"; @font-face { font-family: x; src: url(INSIDE) }
        p { font: 9px x; background: url(INSIDE) }</style>""",
    "drawings that load": '<svg><use href="INSIDE#x"/><image href="INSIDE"/><script href="INSIDE"/></svg>',
}

_TOOLS = """
const app = document.getElementById('app');
const kind = (text) => text.includes('<') ? 'text/html' : 'text/javascript';
const blob = (text) => URL.createObjectURL(new Blob([text], {type: kind(text)}));
const frame = (src) => document.body.append(Object.assign(document.createElement('iframe'), {src}));
const link = (href) => document.body.appendChild(Object.assign(document.createElement('a'), {href}));
"""

MAY_BE_LOST = frozenset(
    {
        *("goes on and on", "reloads", "refreshes without end", "goes back and forth", "stays", "lies about itself"),
        *("frames in frames", "frames of other sites", "a document that grows", "a deep tree", "forms"),
        *("windows", "attributes that grow", "a body without end"),
    }
)
"""Pages that leave for another one or leave nothing to read, those that are too large to be read in their seconds on a
busy machine, and one that fills its memory until its process ends: no text is as right as their own."""


def hostile_pages() -> dict[str, str]:
    """Name and HTML of each."""
    body = "<body><div id=app>the text</div>"
    pages = {name: f"<!doctype html><head>{head}</head>{body}" for name, head in _HEADS.items()}
    for name, code in _SCRIPTS.items():
        pages[name] = f"<!doctype html>{body}<script>{_TOOLS}{code}</script></body>"
    return pages
