for (let i = 0; i < 100; i++) new EventSource('INSIDE?' + i)
