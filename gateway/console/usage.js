// What keys, models and tools have used, by day as a chart and in sum as a table. Needs a key with the scope admin.

import { copyButton, failure, field, fill, h, number, select, table } from "./dom.js";
import { curl, getJson } from "./api.js";
import { timeChart } from "./charts.js";

const GROUPS = ["day", "key", "model", "tool", "user", "session"], PEOPLE = ["user", "session"];
const FIGURES = ["requests", "input_tokens", "cached_tokens", "output_tokens", "tool_calls", "spend"];
const KINDS = ["line-one", "good-mark", "warn-mark", "soft-mark", "line-two", "bad-mark"];
const day = (back) => new Date(Date.now() - back * 86400e3).toISOString().slice(0, 10);

export function show(panel) {
  const since = h("input", { type: "date", value: day(30), max: day(0) });
  const figure = select(FIGURES, "requests"), parts = select(["key", "model", "tool", "user", "session"], "model");
  const boxes = GROUPS.map((name) => h("input", { type: "checkbox", id: `by-${name}`, value: name, checked: name === "key" || name === "model" }));
  const picture = h("div"), out = h("div", { "aria-live": "polite" });
  const form = h("form", { class: "row" }, field("Since (UTC)", since), field("Chart of", figure), field("by day and", parts),
    h("fieldset", { class: "choice" }, h("legend", {}, "Table summed by"), boxes.map((box) => h("label", { for: box.id }, box, box.value))));
  fill(panel, h("h2", {}, "Usage"), form, h("div", { class: "charts one" }, picture), out);

  const told = (name, value) => (name === "spend" && (value === 0 || value >= 0.01) ? value.toFixed(4) : number(value));
  const label = (row, name) => (name === "key" && row.name ? row.name : row[name] || "–");

  async function draw() {
    const { rows, currency } = await getJson(`/api/admin/usage?since=${encodeURIComponent(since.value)}&by=day,${parts.value}`);
    const names = [...new Set(rows.map((row) => label(row, parts.value)))];
    const weight = (name) => rows.reduce((total, row) => (label(row, parts.value) === name ? total + row[figure.value] : total), 0);
    const largest = names.sort((a, b) => weight(b) - weight(a)).slice(0, KINDS.length), others = names.length > largest.length;
    const days = [];
    for (let at = Date.parse(since.value); at <= Date.now(); at += 86400e3) days.push(new Date(at).toISOString().slice(0, 10));
    const points = days.map((each) => {
      const point = { t: Date.parse(each) / 1000 };
      for (const row of rows) if (row.day === each) {
        const name = label(row, parts.value), slot = largest.includes(name) && !(others && name === largest.at(-1)) ? name : others ? "others" : name;
        point[slot] = (point[slot] ?? 0) + row[figure.value];
      }
      return point;
    });
    const shown = others ? [...largest.slice(0, -1), "others"] : largest;
    fill(picture, rows.length ? timeChart(`${figure.value.replaceAll("_", " ")} by day${figure.value === "spend" && currency ? `, ${currency}` : ""}`, points, shown.map((name, index) => ({ name, kind: KINDS[index], value: (point) => point[name] ?? 0 })),
      { stacked: true, stepS: 86400, format: (value) => told(figure.value, value), times: (seconds) => new Date(seconds * 1000).toISOString().slice(5, 10) }) : null);
  }

  async function look() {
    const by = boxes.filter((box) => box.checked).map((box) => box.value);
    const path = `/api/admin/usage?since=${encodeURIComponent(since.value)}&by=${by.join(",")}`;
    try {
      const { rows, currency, machines } = await getJson(path);
      await draw();
      const head = [...by, ...FIGURES.map((name) => (name === "spend" ? `spend ${currency}`.trim() : name.replaceAll("_", " ")))];
      const lines = rows.map((row) => [...by.map((name) => (name === "key" && row.name ? `${row.name} (${row.key})` : row[name] || "–")), ...FIGURES.map((name) => told(name, row[name]))]);
      const all = FIGURES.map((name) => rows.reduce((total, row) => total + row[name], 0));
      if (rows.length > 1 && by.length) lines.push([...by.map((_, index) => (index ? "" : "all")), ...all.map((value, index) => told(FIGURES[index], value))]);
      fill(out, rows.length ? table("Used", head, lines, FIGURES.map((_, index) => by.length + index)) : h("p", {}, "Nothing was used since that day."),
        h("p", { class: "hint" }, machines === "all" ? "Of all machines that share the Redis." : "Of this machine."),
        h("p", {}, copyButton(() => curl("GET", path), "Copy as curl")));
    } catch (error) {
      fill(out, failure(error));
    }
  }
  // Users and sessions are counted by day and key alone.
  form.addEventListener("change", ({ target }) => {
    const apart = PEOPLE.includes(target.value) ? ["model", "tool", ...PEOPLE] : ["model", "tool"].includes(target.value) ? PEOPLE : [];
    for (const box of boxes) if (target.checked && box !== target && apart.includes(box.value)) box.checked = false;
    look();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  return { enter: look };
}
