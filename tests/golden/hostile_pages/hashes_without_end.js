(function f() { location.hash = Math.random(); setTimeout(f) })()
