// Scrolls to the end. Whether the page is longer than the screen and than the last time.
(() => {
  const root = document.scrollingElement || document.documentElement;
  if (!root) return false;
  const last = window.gatewayHeight || 0, height = root.scrollHeight;
  window.gatewayHeight = height;
  root.scrollTop = height;
  return height > window.innerHeight && height > last;
})()
