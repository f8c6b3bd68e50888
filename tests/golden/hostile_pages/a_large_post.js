fetch('/up', {method: 'POST', body: 'x'.repeat(1e7)}).catch(() => {})
