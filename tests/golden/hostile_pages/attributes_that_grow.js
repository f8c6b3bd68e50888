for (let i = 0; i < 20; i++) app.setAttribute('data-' + i, 'x'.repeat(1e6))
