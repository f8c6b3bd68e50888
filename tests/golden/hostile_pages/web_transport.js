new WebTransport('INSIDE'.replace('http:', 'https:')).ready.catch(() => {})
