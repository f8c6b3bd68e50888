"""The scripts that the render process runs in a page. They are data for the browser; no page chooses them."""

START = """
{
  let watches = false;
  const watched = (name) => {
    const Plain = window[name];
    if (Plain) window[name] = new Proxy(Plain, {construct: (target, given, made) => {
      watches = true;
      return Reflect.construct(target, given, made);
    }});
  };
  watched("IntersectionObserver");
  watched("ResizeObserver");
  const listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function addEventListener(kind, ...given) {
    if (kind === "scroll" || /^(animation|transition)/.test(kind)) watches = true;
    return listen.call(this, kind, ...given);
  };
  window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16);
  window.cancelAnimationFrame = (number) => clearTimeout(number);
  window.requestIdleCallback = (run) => setTimeout(() => run({didTimeout: false, timeRemaining: () => 10}), 1);
  window.cancelIdleCallback = (number) => clearTimeout(number);
  const animate = Element.prototype.animate;
  Element.prototype.animate = function (...given) {
    watches = true;
    return animate.apply(this, given);
  };
  delete Document.prototype.startViewTransition;
  window.open = () => null;
  Object.defineProperty(window, Symbol.for("gateway"), {get: () => watches || !!window.onscroll});
  Object.defineProperty(Navigator.prototype, "onLine", {get: () => true, configurable: true});
}
"""
"""Before the page's own scripts: the browser has no network and would say so, but the gateway answers for it. Frames
and idle moments come by the virtual clock, as real ones do not follow it or do not come at all.
`window[Symbol.for("gateway")]`: the page looks at what is on the screen, so that drawing and scrolling may change it; a
page that lies about it changes what is read of itself. Windows are not opened: nobody would see them, and what opens
all the same is closed."""

WATCHES = 'window[Symbol.for("gateway")] === true || !!document.querySelector("iframe[loading=lazy]")'

FRAMES = """
new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))
"""
"""Waits until two frames were drawn, in a world where frames are those of the screen."""

SCROLL = """
(() => {
  const root = document.scrollingElement || document.documentElement;
  if (!root) return false;
  const last = window.gatewayHeight || 0, height = root.scrollHeight;
  window.gatewayHeight = height;
  root.scrollTop = height;
  return height > window.innerHeight && height > last;
})()
"""
"""Scrolls to the end. Whether the page is longer than the screen and than the last time."""

READ = """
(() => {
  const open = (root, depth) => {
    if (depth > 30) return;
    for (const host of [...root.querySelectorAll("*")]) {
      const shadow = host.shadowRoot;
      if (!shadow) continue;
      open(shadow, depth + 1);
      for (const slot of [...shadow.querySelectorAll("slot")]) {
        const given = slot.assignedNodes();
        slot.replaceWith(...(given.length ? given : slot.childNodes));
      }
      for (const style of [...shadow.querySelectorAll("style, link")]) style.remove();
      host.replaceChildren(...shadow.childNodes);
    }
  };
  const framed = (frame) => {
    try {
      const body = frame.contentDocument && frame.contentDocument.body;
      if (!body || !body.textContent.trim()) return;
      const box = document.createElement("div");
      box.append(...[...body.childNodes].map((node) => document.importNode(node, true)));
      frame.replaceWith(box);
    } catch (error) {}
  };
  for (const frame of [...document.querySelectorAll("iframe")].slice(0, 20)) framed(frame);
  open(document, 0);
  return {url: location.href.slice(0, 4000), html: document.documentElement.outerHTML};
})()
"""
"""The address and the HTML of the page as it stands, with what stands in open shadow trees and in frames of its own
origin put in their places: a reader sees it there."""

IS_DRAWN = """
(() => {
  const words = ((document.body && document.body.innerText) || "").split(/\\s+/, 51).filter(Boolean);
  if (words.length >= 50) return false;
  let covered = 0;
  for (const canvas of [...document.querySelectorAll("canvas")].slice(0, 50)) {
    const box = canvas.getBoundingClientRect();
    const width = Math.min(box.right, innerWidth) - Math.max(box.left, 0);
    const height = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
    if (width > 0 && height > 0) covered += width * height;
  }
  return covered > innerWidth * innerHeight / 2;
})()
"""
"""Whether the page has under 50 words and canvases over half of the screen: its text is a picture then."""
