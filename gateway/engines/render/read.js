// The address and the present HTML of the page, with that of open shadow trees and of frames of its own origin put in
// their places: a reader sees it there.
(() => {
  const open = (root, depth) => {
    if (depth > 30) return;
    for (const host of [...root.querySelectorAll("*")]) {
      const shadow = host.shadowRoot;
      if (!shadow) continue;
      open(shadow, depth + 1);
      for (const slot of [...shadow.querySelectorAll("slot")]) {
        const given = slot.assignedNodes();
        slot.replaceWith(...(given.length ? given : slot.childNodes));
      }
      for (const style of [...shadow.querySelectorAll("style, link")]) style.remove();
      host.replaceChildren(...shadow.childNodes);
    }
  };
  const framed = (frame) => {
    try {
      const body = frame.contentDocument && frame.contentDocument.body;
      if (!body || !body.textContent.trim()) return;
      const box = document.createElement("div");
      box.append(...[...body.childNodes].map((node) => document.importNode(node, true)));
      frame.replaceWith(box);
    } catch (error) {}
  };
  for (const frame of [...document.querySelectorAll("iframe")].slice(0, 20)) framed(frame);
  open(document, 0);
  return {url: location.href.slice(0, 4000), html: document.documentElement.outerHTML};
})()
