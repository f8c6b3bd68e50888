let inner = document;
for (let i = 0; i < 300; i++) {
  const made = inner.createElement('iframe');
  inner.body.append(made);
  inner = made.contentDocument;
}
inner.body.innerHTML = '<img src="INSIDE">';
