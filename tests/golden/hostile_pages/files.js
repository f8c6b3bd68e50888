for (const url of ['file:///etc/passwd', 'chrome://version', 'view-source:INSIDE']) {
  frame(url);
  link(url).click();
}
