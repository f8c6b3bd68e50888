const url = 'INSIDE'.replace('//', '//a:b@');
fetch(url).catch(() => {});
frame(url);
