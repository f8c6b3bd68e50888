// Shows what would be masked in a text and why, and what is not looked for. Nothing is stored, and no model is asked.

import { failure, field, fill, h, select, table } from "./dom.js";
import { getJson, postJson } from "./api.js";

const MAX_CHARS = 60000;

export function show(panel) {
  const text = h("textarea", { rows: 8, maxlength: MAX_CHARS, required: true, spellcheck: "false" });
  const profile = select(["as configured", "balanced", "strict", "reversible"], "as configured");
  const out = h("div", { "aria-live": "polite" });
  const form = h("form", {}, field("Text", text, "It is checked by this gateway and forgotten; the guardrail model is not asked."), field("Profile", profile), h("p", {}, h("button", { type: "submit" }, "Show")));
  const state = h("p", { class: "hint" });
  fill(panel, h("h2", {}, "What would be masked"), state, form, out);
  getJson("/api/admin/configuration").then((found) => { state.textContent = found.guardrail_off; }).catch((error) => fill(out, failure(error)));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const chosen = profile.value === "as configured" ? {} : { profile: profile.value };
      fill(out, report(text.value, await postJson("/api/admin/sanitize", { text: text.value, ...chosen })));
    } catch (error) {
      fill(out, failure(error));
    }
  });
}

function report(text, found) {
  if (!found.findings.length) return h("p", {}, `Nothing found (profile ${found.profile}).`);
  return [
    h("h3", {}, "The text"), marked([...text], found.findings),
    table(`${found.findings.length} found, profile ${found.profile}`, ["Place", "Kind", "Certainty", "In requests", "In answers"],
      found.findings.map((each) => [`${each.line}:${each.column}`, each.entity, each.certain ? "certain: its form proves it" : "likely: a word near it says so", each.request, each.response])),
    h("h3", {}, "In a request"), h("pre", { tabindex: "0" }, found.request_text),
    h("h3", {}, "In an answer"), h("pre", { tabindex: "0" }, found.response_text),
  ];
}

/** The text with its findings marked; places count code points, hence a list of characters. */
function marked(characters, findings) {
  const parts = [];
  let last = 0;
  for (const { start, end, entity } of findings) {
    if (start < last) continue;
    parts.push(characters.slice(last, start).join(""), h("mark", { title: entity }, characters.slice(start, end).join(""), h("sub", {}, entity)));
    last = end;
  }
  return h("pre", { tabindex: "0" }, [...parts, characters.slice(last).join("")]);
}
