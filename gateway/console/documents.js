// Of a documentation page: a copy button at each piece of code, and a search over all sections.

import { copyButton, h } from "./dom.js";

document.getElementById("places").prepend(h("a", { href: "/" }, "Console"), " "); // not in the page: readers of its text have no use for it

for (const code of document.querySelectorAll("pre")) {
  code.tabIndex = 0;
  const text = code.textContent, button = copyButton(() => text);
  button.className = "copy";
  code.append(button);
}
for (const table of document.querySelectorAll("article table")) {
  const box = h("div", { class: "table", tabindex: "0" });
  table.replaceWith(box);
  box.append(table);
}

const input = document.getElementById("search"), found = document.getElementById("found");
let sections = null;

input.form.addEventListener("submit", (event) => { event.preventDefault(); found.querySelector("a")?.click(); });
input.addEventListener("input", async () => {
  sections ??= await (await fetch("/docs/search.json")).json();
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = words.length ? sections.map((each) => [score(each, words), each]).filter(([points]) => points).sort((a, b) => b[0] - a[0]).slice(0, 12) : [];
  found.hidden = !words.length;
  found.replaceChildren(...(hits.length ? hits.map(([, each]) => h("li", {}, h("a", { href: `/docs/${each.page}${each.anchor ? `#${each.anchor}` : ""}` }, each.heading || each.title), h("small", {}, each.title)))
    : [h("li", {}, "nothing found")]));
});

/** Every word must occur; one in a heading counts more. */
function score(section, words) {
  const heading = `${section.heading} ${section.title}`.toLowerCase(), text = section.text.toLowerCase();
  let points = 0;
  for (const word of words) {
    if (heading.includes(word)) points += 5;
    else if (text.includes(word)) points += 1;
    else return 0;
  }
  return points;
}
