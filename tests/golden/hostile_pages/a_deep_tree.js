let at = app; for (let i = 0; i < 50_000; i++) at = at.appendChild(document.createElement('b'))
