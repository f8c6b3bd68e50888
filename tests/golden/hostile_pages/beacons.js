for (let i = 0; i < 100; i++) navigator.sendBeacon('INSIDE', 'x'.repeat(1000))
