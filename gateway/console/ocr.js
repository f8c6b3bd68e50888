// Reads a picture with the OCR model: boxes over the picture, blocks and boxes linked both ways.

import { copyButton, failure, field, fill, h, select } from "./dom.js";
import { curl, postJson } from "./api.js";
import { markdown } from "./markdown.js";

const MODES = {
  "Markdown, with boxes": () => "<image>\n<|grounding|>Convert the document to markdown.",
  "Free OCR": () => "<image>\nFree OCR.",
  "Locate a text": (text) => `<image>\nLocate <|ref|>${text}<|/ref|> in the image.`,
  "Describe": () => "<image>\nDescribe this image in detail.",
  "Custom prompt": (text) => text,
};
const MAX_BYTES = 20 * 1024 * 1024;

/** The blocks of an answer: `[{label, box: [x1, y1, x2, y2], text}]`, boxes in thousandths of the picture. */
export function blocksOf(text) {
  const found = [...text.matchAll(/^([^\n[\]]{0,200})\[\[(\d{1,3}), ?(\d{1,3}), ?(\d{1,3}), ?(\d{1,3})\]\]/gm)];
  return found.map((match, index) => ({
    label: match[1].trim(),
    box: match.slice(2, 6).map(Number),
    text: text.slice(match.index + match[0].length, found[index + 1]?.index ?? text.length).trim(),
  }));
}

export function show(panel) {
  const file = h("input", { type: "file", accept: "image/*,application/pdf", required: true });
  const mode = select(Object.keys(MODES), "Markdown, with boxes"), more = h("input", { type: "text", maxlength: 2000 });
  const moreField = field("Text", more, "what to locate, or your prompt");
  moreField.hidden = true;
  mode.addEventListener("change", () => { moreField.hidden = !["Locate a text", "Custom prompt"].includes(mode.value); });
  const drop = h("div", { class: "drop" }, field("Picture or PDF (drop one here, or choose)", file));
  const submit = h("button", { type: "submit" }, "Read");
  const out = h("div", { "aria-live": "polite" });
  const form = h("form", {}, drop, field("Mode", mode), moreField, h("p", {}, submit));
  fill(panel, h("h2", {}, "Read a picture"), form, out);

  for (const name of ["dragover", "dragenter"]) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (event.dataTransfer.files.length) file.files = event.dataTransfer.files;
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const chosen = file.files[0];
    if (!chosen) return;
    if (chosen.size > MAX_BYTES) { fill(out, failure(new Error("the file is larger than 20 MB"))); return; }
    submit.disabled = true;
    fill(out, h("p", { class: "hint" }, "reading …"));
    try {
      const url = await dataUrl(chosen);
      const isPdf = chosen.type === "application/pdf";
      const part = isPdf ? { type: "file", file: { filename: chosen.name, file_data: url } } : { type: "image_url", image_url: { url } };
      const body = { model: "SvcOCR", temperature: 0, max_tokens: 8000, messages: [{ role: "user", content: [{ type: "text", text: MODES[mode.value](more.value) }, part] }] };
      const answer = await postJson("/api/v1/chat/completions", body);
      fill(out, reading(answer, isPdf ? null : url, body));
    } catch (error) {
      fill(out, failure(error));
    }
    submit.disabled = false;
  });
}

/** A file as `data:` URL. */
export const dataUrl = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.addEventListener("load", () => resolve(reader.result));
  reader.addEventListener("error", () => reject(new Error("the file cannot be read")));
  reader.readAsDataURL(file);
});

function reading(answer, url, body) {
  const text = answer.choices[0].message.content ?? "", blocks = blocksOf(text);
  const extra = answer.choices[0].provider_specific_fields ?? answer.provider_specific_fields ?? {};
  const warnings = (extra.ocr?.warnings ?? []).map((each) => h("p", { class: "error" }, typeof each === "string" ? each : each.message ?? JSON.stringify(each)));
  for (const word of extra.uncertain ?? []) warnings.push(h("p", { class: "hint" }, "uncertain: ", h("mark", {}, word.text), ` may be ${word.alternatives.join(" or ")}`));
  const raw = h("pre", { tabindex: "0", class: "raw" }, text);
  const parts = [];
  if (url) parts.push(picture(url, blocks));
  if (blocks.length) {
    parts.push(h("ol", { class: "blocks" }, blocks.map((block, index) =>
      h("li", { id: `block-${index}`, tabindex: "0", "data-block": index }, h("span", { class: `label ${kindOf(block.label)}` }, block.label), content(block.text)))));
  } else parts.push(h("div", { class: "answer" }, h("pre", { tabindex: "0" }, text)));
  const shown = h("div", { class: "reading" }, parts);
  for (const name of ["pointerover", "focusin"]) shown.addEventListener(name, (event) => mark(shown, event.target.closest("[data-block]")?.dataset.block));
  shown.addEventListener("click", (event) => {
    const box = event.target.closest("rect[data-block]");
    if (box) { const item = shown.querySelector(`#block-${box.dataset.block}`); item.scrollIntoView({ block: "nearest" }); item.focus(); }
  });
  return [warnings, shown, h("p", { class: "hint" }, `${answer.usage?.completion_tokens ?? 0} tokens`),
    h("details", {}, h("summary", {}, "The answer as it came"), copyButton(() => text), raw),
    h("details", {}, h("summary", {}, "The same call with curl (put the whole picture in)"), h("pre", { tabindex: "0" }, curl("POST", "/api/v1/chat/completions", body)))];
}

/** A table of the OCR model is one `<table>` of plain cells: read as text, cell by cell, never as HTML of the page. */
function content(text) {
  if (!text.startsWith("<table>")) return markdown(text);
  const parsed = new DOMParser().parseFromString(text, "text/html");
  return h("div", { class: "scroll", tabindex: "0" }, h("table", {}, h("tbody", {}, [...parsed.querySelectorAll("tr")].map((row) =>
    h("tr", {}, [...row.children].map((cell) => h("td", { rowspan: whole(cell, "rowspan"), colspan: whole(cell, "colspan") }, cell.textContent)))))));
}

const whole = (cell, name) => (/^\d{1,3}$/.test(cell.getAttribute(name) ?? "") ? cell.getAttribute(name) : null);

const kindOf = (label) => (["title", "text", "table", "code", "image"].includes(label) ? label : "other");

function picture(url, blocks) {
  const image = h("img", { src: url, alt: "the picture that was read" });
  const boxes = h("svg", { viewBox: "0 0 999 999", preserveAspectRatio: "none", role: "img", "aria-label": `${blocks.length} blocks` },
    blocks.map(({ label, box: [left, top, right, bottom] }, index) =>
      h("rect", { x: left, y: top, width: Math.max(right - left, 1), height: Math.max(bottom - top, 1), class: kindOf(label), "data-block": index })));
  return h("div", { class: "picture" }, image, boxes);
}

function mark(shown, index) {
  for (const each of shown.querySelectorAll("[data-block]")) each.classList.toggle("marked", index !== undefined && each.dataset.block === index);
}
