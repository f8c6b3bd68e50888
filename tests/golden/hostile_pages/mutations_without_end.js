new MutationObserver(() => app.setAttribute('a', Math.random())).observe(app, {attributes: true});
onload = () => setTimeout(() => app.setAttribute('a', 1), 10);
