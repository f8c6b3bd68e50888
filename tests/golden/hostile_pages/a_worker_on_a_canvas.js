const canvas = document.createElement('canvas').transferControlToOffscreen();
const code = `onmessage = () => { (function f() { requestAnimationFrame(f) })() }`;
new Worker(blob(code)).postMessage(canvas, [canvas]);
