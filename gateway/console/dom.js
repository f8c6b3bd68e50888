// Makes elements. Text goes in as text, never as HTML: what a model or a web page wrote cannot become an element.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "polyline", "rect", "g", "text", "title-svg", "line"]);

/** An element with attributes (`on…`: a listener, `true`: an empty attribute, null and false: none) and children. */
export function h(tag, attributes = {}, ...children) {
  const element = SVG_TAGS.has(tag)
    ? document.createElementNS(SVG, tag.replace("-svg", ""))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Put `children` in the place of what `parent` holds. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return parent;
}

/**
 * A table with a caption. `rows`: lists of texts or elements, or rows of `tableRow`; columns in `numeric` are aligned to
 * the right. On a phone each row is a card whose cells have their columns' names; the roles outlast that style.
 */
export function table(caption, head, rows, numeric = []) {
  const names = head.map((name, column) => h("th", { class: numeric.includes(column) ? "number" : null, scope: "col", role: "columnheader" }, name));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { class: "cards", role: "table" }, h("caption", {}, caption), h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, names)),
      h("tbody", { role: "rowgroup" }, rows.map((row) => (Array.isArray(row) ? tableRow(head, row, numeric) : row)))));
}

/** One row of `table`. */
export const tableRow = (head, row, numeric = []) => h("tr", { role: "row" }, row.map((cell, column) =>
  h("td", { class: [["", "–", null, undefined].includes(cell) ? "none" : "", numeric.includes(column) ? "number" : ""].join(" ").trim() || null, role: "cell", "data-label": head[column] }, cell ?? "")));

/** A bar for a share of one. */
export function share(part, kind) {
  return h("svg", { class: "share", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, h("rect", { class: `bar ${kind}`, x: 0, y: 0, width: Math.min(100, part > 0 ? Math.max(1, part * 100) : 0), height: 8 }));
}

/** A labelled field of a form: `input` gets an id if it has none. */
let fields = 0;
export function field(label, input, hint = "") {
  input.id ||= `field-${++fields}`;
  const note = hint ? h("small", { id: `${input.id}-hint` }, hint) : null;
  if (note) input.setAttribute("aria-describedby", note.id);
  return h("p", { class: "field" }, h("label", { for: input.id }, label), input, note);
}

/** A `<select>` of values. */
export function select(values, chosen) {
  return h("select", {}, values.map((value) => h("option", { value, selected: value === chosen }, value)));
}

/** A button that copies what `text()` gives. */
export function copyButton(text, label = "Copy") {
  const button = h("button", { type: "button", class: "quiet" }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select it and copy by hand";
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  });
  return button;
}

/** A box for what went wrong; read out by screen readers. */
export function failure(error) {
  const id = error.requestId ? ` (request ${error.requestId})` : "";
  return h("p", { class: "error", role: "alert" }, `${error.message}${id}`);
}

/** A number as people read it; what is less than a hundredth to the billionth. */
export function number(value) {
  if (!Number.isFinite(value)) return "-";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  if (value && Math.abs(value) < 0.01) return value.toFixed(9).replace(/\.?0+$/, "");
  return String(Math.round(value * 100) / 100);
}

/** A time of the clock as `2026-11-30 17:05:00`, where the reader is. */
export const moment = (seconds) => new Date(seconds * 1000).toLocaleString("sv");
