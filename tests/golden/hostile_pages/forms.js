for (let i = 0; i < 50; i++) {
  const form = document.createElement('form');
  Object.assign(form, {method: 'post', action: 'INSIDE', target: 'f' + i});
  document.body.append(form);
  form.submit();
}
