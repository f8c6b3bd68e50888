for (let i = 0; i < 5_000; i++) history.pushState({}, '', '/at/' + i)
