const body = new ReadableStream({pull(to) { to.enqueue(new Uint8Array(65536)) }});
fetch('/up', {method: 'POST', body, duplex: 'half'}).catch(() => {});
new Response(new ReadableStream({pull(to) { to.enqueue(new Uint8Array(65536)) }})).text();
