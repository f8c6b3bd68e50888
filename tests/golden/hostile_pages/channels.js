const a = new BroadcastChannel('x'), b = new BroadcastChannel('x');
b.onmessage = () => a.postMessage(1);
a.onmessage = () => b.postMessage(1);
a.postMessage(1);
