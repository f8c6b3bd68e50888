for (let i = 0; i < 100; i++) new WebSocket('INSIDE'.replace('http', 'ws'))
