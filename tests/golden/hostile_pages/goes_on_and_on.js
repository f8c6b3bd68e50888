location.href = '/' + Math.random()
