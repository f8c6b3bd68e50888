for (let i = 0; i < 50; i++) fetch('INSIDE', {keepalive: true}).catch(() => {})
