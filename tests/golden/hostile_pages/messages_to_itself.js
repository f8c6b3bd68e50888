onmessage = () => postMessage(1, '*'); postMessage(1, '*')
