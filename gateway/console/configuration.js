// The configuration in force, as `gateway print-config` writes it: every setting, no secret. Needs a key with the scope
// admin.

import { copyButton, failure, field, fill, h } from "./dom.js";
import { getJson } from "./api.js";

export function show(panel) {
  const filter = h("input", { type: "search", placeholder: "a setting or its value" }), where = h("p"), out = h("div"), shown = h("pre", { tabindex: "0", "aria-label": "Configuration" });
  fill(panel, h("h2", {}, "Configuration in force"), where, h("form", { onsubmit: (event) => event.preventDefault() }, field("Filter", filter)), out);
  let text = "";
  function draw() {
    const word = filter.value.trim().toLowerCase();
    shown.textContent = word ? chosen(text.split("\n"), word).join("\n") || "no setting has this word" : text;
  }
  filter.addEventListener("input", draw);
  return {
    async enter() {
      try {
        const found = await getJson("/api/admin/configuration");
        text = found.text;
        fill(where, found.path ? ["Read from ", h("code", {}, found.path), ". "] : "No configuration file. ", "Settings that no file names have their defaults. ", h("a", { href: "/docs/configuration" }, "What each means"));
        fill(out, h("p", {}, copyButton(() => shown.textContent)), shown);
        draw();
      } catch (error) {
        fill(out, failure(error));
      }
    },
  };
}

/** The lines that hold a word, each table's under its name; all of a table whose name has it. */
function chosen(lines, word) {
  const out = [];
  let head = "";
  for (const line of lines) {
    if (line.startsWith("[")) head = line;
    else if (line.trim() && `${head}\n${line}`.toLowerCase().includes(word)) {
      if (head && out.findLast((each) => each.startsWith("[")) !== head) out.push(...(out.length ? ["", head] : [head]));
      out.push(line);
    }
  }
  return out;
}
