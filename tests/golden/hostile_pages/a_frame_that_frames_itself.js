frame(location.href + '?' + Math.random())
