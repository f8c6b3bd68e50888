const app = document.getElementById('app');
const quiet = (f) => { try { const p = f(); p && p.catch && p.catch(() => {}) } catch (e) {} };
const insert = (html) => quiet(() => app.insertAdjacentHTML('beforeend', html));
const add = (tag, parts) => app.appendChild(Object.assign(document.createElement(tag), parts));
for (const url of URLS) {
  quiet(() => fetch(url, {mode: 'no-cors'}));
  quiet(() => fetch(url, {method: 'POST', body: 'x', mode: 'no-cors'}));
  insert(`<img src="${url}"><link rel=stylesheet href="${url}">`);
}
for (const url of FEW) {
  const socket = url.replace('http', 'ws'), program = `fetch("${url}"); new WebSocket("${socket}")`;
  const blob = URL.createObjectURL(new Blob([program]));
  insert(`<iframe src="${url}"></iframe><object data="${url}"></object><embed src="${url}">`);
  insert(`<video src="${url}"></video><link rel=preconnect href="${url}">`);
  insert(`<link rel=dns-prefetch href="${url}"><link rel=prefetch href="${url}">`);
  insert(`<link rel=preload as=fetch href="${url}"><a ping="${url}" href="#" id=ping>x</a>`);
  add('script', {src: url}); add('script', {type: 'module', src: url});
  quiet(() => new WebSocket(socket)); quiet(() => new EventSource(url));
  quiet(() => new Worker(url)); quiet(() => new SharedWorker(url));
  quiet(() => new Worker(blob)); quiet(() => new SharedWorker(blob));
  quiet(() => navigator.serviceWorker.register(url)); quiet(() => navigator.sendBeacon(url, 'x'));
  quiet(() => new WebTransport(url.replace('http:', 'https:')));
  quiet(() => window.open(url)); quiet(() => window.open(url, '_blank', 'noopener'));
  quiet(() => {
    const turn = {urls: 'turn:127.0.0.1:PORT?transport=tcp', username: 'u', credential: 'c'};
    const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:PORT'}, turn]});
    peer.createDataChannel('x');
    return peer.createOffer().then((offer) => peer.setLocalDescription(offer));
  });
  quiet(() => document.getElementById('ping').click());
  quiet(() => add('form', {method: 'post', action: url, target: '_blank'}).submit());
}
app.insertAdjacentHTML('afterbegin', 'all tried');
