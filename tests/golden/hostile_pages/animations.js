const steps = [{opacity: 0}, {opacity: 1}];
for (let i = 0; i < 2_000; i++) app.animate(steps, {duration: 1, iterations: Infinity});
