// Whether the page has under 50 words and canvases over half of the screen: its text is a picture then.
(() => {
  const words = ((document.body && document.body.innerText) || "").split(/\s+/, 51).filter(Boolean);
  if (words.length >= 50) return false;
  let covered = 0;
  for (const canvas of [...document.querySelectorAll("canvas")].slice(0, 50)) {
    const box = canvas.getBoundingClientRect();
    const width = Math.min(box.right, innerWidth) - Math.max(box.left, 0);
    const height = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
    if (width > 0 && height > 0) covered += width * height;
  }
  return covered > innerWidth * innerHeight / 2;
})()
