// What keys, models and tools have used, from the gateway's own record. Needs a key with the scope admin.

import { failure, field, fill, h, number, table } from "./dom.js";
import { curl, getJson } from "./api.js";
import { copyButton } from "./dom.js";

const GROUPS = ["day", "key", "model", "tool"];
const FIGURES = ["requests", "input_tokens", "cached_tokens", "output_tokens", "tool_calls", "spend"];

export function show(panel) {
  const day = (back) => new Date(Date.now() - back * 86400e3).toISOString().slice(0, 10);
  const since = h("input", { type: "date", value: day(30), max: day(0) });
  const boxes = GROUPS.map((name) => h("input", { type: "checkbox", id: `by-${name}`, value: name, checked: name === "key" || name === "model" }));
  const out = h("div", { "aria-live": "polite" });
  const form = h("form", {}, field("Since (UTC)", since), h("fieldset", { class: "choice" }, h("legend", {}, "Summed by"), boxes.map((box) => h("label", { for: box.id }, box, box.value))));
  fill(panel, h("h2", {}, "Usage"), form, out);
  async function look() {
    const by = boxes.filter((box) => box.checked).map((box) => box.value);
    const path = `/api/admin/usage?since=${encodeURIComponent(since.value)}&by=${by.join(",")}`;
    try {
      const { rows, currency, machines } = await getJson(path);
      const head = [...by, ...FIGURES.map((name) => (name === "spend" ? `spend ${currency}`.trim() : name.replaceAll("_", " ")))];
      const lines = rows.map((row) => [...by.map((name) => (name === "key" && row.name ? `${row.key} ${row.name}` : row[name] || "-")), ...FIGURES.map((name) => (name === "spend" ? row[name].toFixed(4) : number(row[name])))]);
      const all = FIGURES.map((name) => rows.reduce((total, row) => total + row[name], 0));
      if (rows.length > 1 && by.length) lines.push([...by.map((_, index) => (index ? "" : "all")), ...all.map((value, index) => (FIGURES[index] === "spend" ? value.toFixed(4) : number(value)))]);
      fill(out, rows.length ? table("Used", head, lines, FIGURES.map((_, index) => by.length + index)) : h("p", {}, "Nothing was used."),
        h("p", { class: "hint" }, machines === "all" ? "Of all machines that share the Redis." : "Of this machine."),
        h("p", {}, copyButton(() => curl("GET", path), "Copy as curl")));
    } catch (error) {
      fill(out, failure(error));
    }
  }
  form.addEventListener("change", look);
  form.addEventListener("submit", (event) => event.preventDefault());
  return { enter: look };
}
