new AudioContext().audioWorklet.addModule(blob('while (true) {}')).catch(() => {})
