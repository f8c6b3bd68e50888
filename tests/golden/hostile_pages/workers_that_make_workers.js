const code = `fetch('INSIDE'); for (let i = 0; i < 20; i++) new Worker(self.location.href)`;
new Worker(blob(code));
