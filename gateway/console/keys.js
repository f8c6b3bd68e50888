// Keys: listed, made, rotated and revoked, with what each has used. A new key is shown once. Needs the scope admin.

import { copyButton, failure, field, fill, h, number, share, table } from "./dom.js";
import { getJson, postJson, send } from "./api.js";

const SCOPES = ["web-search", "chat", "responses", "ocr", "embeddings", "admin"];
const LIMITS = [["per_minute", "Requests a minute"], ["concurrent", "Requests at once"], ["tokens_per_minute", "Tokens a minute"], ["tokens_per_day", "Tokens a day"], ["tool_calls_per_day", "Tool calls a day"], ["spend_per_month", "Spend a month"], ["per_user_tokens_per_day", "Tokens a day and user"], ["per_user_spend_per_day", "Spend a day and user"]];
const day = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);

export function show(panel) {
  const made = h("div", { "aria-live": "polite" }), list = h("div");
  const name = h("input", { type: "text", required: true, maxlength: 100, placeholder: "agent-1" });
  const boxes = SCOPES.map((scope) => h("input", { type: "checkbox", id: `scope-${scope}`, value: scope }));
  const labels = h("input", { type: "text", placeholder: "mcp:tickets, mcp:wiki" });
  const expires = h("input", { type: "number", min: 1, max: 3650, placeholder: "never" });
  const limits = LIMITS.map(([limit]) => h("input", { type: "number", min: 0, step: limit.includes("spend") ? "any" : 1, placeholder: "as configured", name: limit }));
  const form = h("form", {},
    field("Name", name, "For people: it stands beside the key's id in usage and logs."),
    h("fieldset", { class: "choice" }, h("legend", {}, "Scopes"), boxes.map((box) => h("label", { for: box.id }, box, box.value))),
    h("details", {}, h("summary", {}, "Limits, end, MCP servers"), h("div", { class: "columns" },
      field("Ends after days", expires), LIMITS.map(([, label], index) => field(label, limits[index])), field("Scopes of MCP servers", labels))),
    h("p", {}, h("button", { type: "submit" }, "Make a key")));
  fill(panel, h("h2", {}, "Keys"), list, made, h("h2", {}, "A new key"), form);

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const scopes = [...boxes.filter((box) => box.checked).map((box) => box.value), ...labels.value.split(/[\s,]+/).filter(Boolean)];
    if (!scopes.length) { fill(made, h("p", { class: "error", role: "alert" }, "choose at least one scope")); return; }
    const body = { name: name.value.trim(), scopes };
    if (expires.value) body.expires_days = Number(expires.value);
    for (const input of limits) if (input.value) body[input.name] = Number(input.value);
    await tell(() => postJson("/api/admin/keys", body));
    form.reset();
  });

  async function tell(make) {
    try {
      const { key, record } = await make();
      const text = h("code", { class: "secret" }, key);
      fill(made, h("div", { class: "answer" }, h("p", {}, h("strong", {}, `The key of ${record.name} (${record.id}). `), "It is shown now and never again."), h("p", {}, text), h("p", {}, copyButton(() => key, "Copy the key"))));
      await look();
    } catch (error) {
      fill(made, failure(error));
    }
  }

  /** A button that asks once more before it acts. */
  function sure(label, question, act) {
    const button = h("button", { type: "button", class: "quiet" }, label);
    let isAsked = false;
    button.addEventListener("click", async () => {
      if (!isAsked) {
        isAsked = true;
        button.textContent = question;
        setTimeout(() => { isAsked = false; button.textContent = label; }, 5000);
        return;
      }
      await act();
    });
    return button;
  }

  function row(record, used, own) {
    const bounds = LIMITS.filter(([limit]) => record[limit] !== undefined).map(([limit, label]) => `${label.toLowerCase()} ${number(record[limit])}`);
    const actions = [h("button", { type: "button", class: "quiet", onclick: () => tell(() => postJson(`/api/admin/keys/${record.id}/rotate`, undefined)) }, "Rotate"),
      record.id === own ? h("small", {}, "in use here") : sure("Revoke", "Revoke for ever?", async () => {
        try {
          await send("DELETE", `/api/admin/keys/${record.id}`);
          fill(made, h("p", {}, `${record.name} (${record.id}) is revoked; it is refused within five seconds.`));
          await look();
        } catch (error) { fill(made, failure(error)); }
      })];
    return [h("code", {}, record.id), record.name, record.scopes.join(", "), bounds.join(", ") || "as configured", h("code", {}, day(record.created)), record.expires ? h("code", {}, day(record.expires)) : "never",
      number(used.requests), bar(used), h("span", { class: "row" }, actions)];
  }

  let most = 1;
  /** The tokens of a key beside the most of any key. */
  function bar(used) {
    return h("span", { class: "meter" }, share(used.tokens / most, "good-mark"), number(used.tokens));
  }

  async function look() {
    try {
      const since = new Date(Date.now() - 30 * 86400e3).toISOString().slice(0, 10);
      const [{ keys, own }, { rows }] = await Promise.all([getJson("/api/admin/keys"), getJson(`/api/admin/usage?since=${since}&by=key`)]);
      const used = new Map(rows.map((each) => [each.key, { requests: each.requests, tokens: each.input_tokens + each.output_tokens }]));
      most = Math.max(1, ...[...used.values()].map((each) => each.tokens));
      fill(list, keys.length ? table(`${keys.length} keys; requests and tokens of the last 30 days`, ["Id", "Name", "Scopes", "Limits", "Made", "Ends", "Requests", "Tokens", "Actions"], keys.map((record) => row(record, used.get(record.id) ?? { requests: 0, tokens: 0 }, own)), [6]) : h("p", {}, "There is no key."));
    } catch (error) {
      fill(list, failure(error));
    }
  }
  return { enter: look };
}
