(function grow() { for (let i = 0; i < 500; i++) app.append(document.createElement('p')); setTimeout(grow) })()
