navigator.locks && navigator.locks.request('x', () => new Promise(() => {}))
