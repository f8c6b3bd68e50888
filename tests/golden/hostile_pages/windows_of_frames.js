const inner = document.createElement('iframe');
document.body.append(inner);
for (let i = 0; i < 50; i++) inner.contentWindow.open('INSIDE');
