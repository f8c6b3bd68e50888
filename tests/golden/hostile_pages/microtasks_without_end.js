onload = () => setTimeout(() => (function f() { Promise.resolve().then(f) })(), 10)
