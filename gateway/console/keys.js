// Keys: listed with what each has used of its budgets, made, changed, rotated and revoked. A new key is shown once. Needs
// the scope admin.

import { copyButton, failure, field, fill, h, number, share, table } from "./dom.js";
import { getJson, postJson, send } from "./api.js";

const SCOPES = ["web-search", "chat", "responses", "ocr", "embeddings", "admin"];
const LIMITS = [["per_minute", "Requests a minute"], ["concurrent", "Requests at once"], ["tokens_per_minute", "Tokens a minute"], ["tokens_per_day", "Tokens a day"], ["tool_calls_per_day", "Tool calls a day"], ["spend_per_month", "Spend a month"], ["per_user_tokens_per_day", "Tokens a day and user"], ["per_user_spend_per_day", "Spend a day and user"]];
const BUDGETS = { tokens_per_day: "tokens today", tool_calls_per_day: "tool calls today", spend_per_month: "spent this month" };
const day = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);

export function show(panel) {
  const made = h("div", { "aria-live": "polite" }), list = h("div"), editor = h("div");
  let defaults = {};
  fill(panel, h("h2", {}, "Keys"), list, made, editor);

  /** The form for a new key, or to change one. */
  function open(record = null) {
    const name = h("input", { type: "text", name: "name", required: true, maxlength: 100, placeholder: "agent-1", value: record?.name });
    const boxes = SCOPES.map((scope) => h("input", { type: "checkbox", id: `scope-${scope}`, value: scope, checked: record?.scopes.includes(scope) }));
    const labels = h("input", { type: "text", placeholder: "mcp:tickets, mcp:wiki", value: record?.scopes.filter((scope) => !SCOPES.includes(scope)).join(", ") });
    const expires = h("input", { type: "number", min: 1, max: 3650, placeholder: record?.expires ? day(record.expires) : "never" });
    const forever = h("input", { type: "checkbox", id: "forever", name: "forever" });
    const limits = LIMITS.map(([limit]) => h("input", { type: "number", min: 0, step: limit.includes("spend") ? "any" : 1, placeholder: defaults[limit] ? `${number(defaults[limit])}, as configured` : "no limit", name: limit, value: record?.[limit] }));
    const form = h("form", {},
      field("Name", name, "For people: it stands beside the key's id in usage and logs."),
      h("fieldset", { class: "choice" }, h("legend", {}, "Scopes"), boxes.map((box) => h("label", { for: box.id }, box, box.value))),
      h("details", { open: record !== null }, h("summary", {}, "Limits, end, MCP servers"), h("div", { class: "columns" },
        field(record ? "Ends after days from now" : "Ends after days", expires), LIMITS.map(([, label], index) => field(label, limits[index])), field("Scopes of MCP servers", labels)),
        record?.expires ? h("p", {}, h("label", { for: "forever" }, forever, "never ends")) : null),
      h("p", { class: "row" }, h("button", { type: "submit" }, record ? "Save" : "Make a key"), record ? h("button", { type: "button", class: "quiet", onclick: () => open() }, "Cancel") : null));
    fill(editor, h("h2", {}, record ? `Change ${record.name} (${record.id})` : "A new key"), form);
    if (record) { name.focus(); editor.scrollIntoView(); }

    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const scopes = [...boxes.filter((box) => box.checked).map((box) => box.value), ...labels.value.split(/[\s,]+/).filter(Boolean)];
      if (!scopes.length) { fill(made, h("p", { class: "error", role: "alert" }, "choose at least one scope")); return; }
      const body = { name: name.value.trim(), scopes };
      if (forever.checked) body.expires_days = null;
      else if (expires.value) body.expires_days = Number(expires.value);
      for (const input of limits) if (input.value || record?.[input.name] !== undefined) body[input.name] = input.value ? Number(input.value) : null;
      if (record) await change(record, body);
      else if (await tell(() => postJson("/api/admin/keys", body))) open();
    });
  }

  /** Send the fields that differ. */
  async function change(record, body) {
    const plain = (value) => JSON.stringify([value].flat().sort());
    for (const name of Object.keys(body)) if (plain(body[name]) === plain(record[name]) && name !== "expires_days") delete body[name];
    try {
      if (Object.keys(body).length) await send("PATCH", `/api/admin/keys/${record.id}`, body);
      fill(made, h("p", {}, `${body.name ?? record.name} (${record.id}) is changed; it is in force within five seconds.`));
      open();
      await look();
    } catch (error) { fill(made, failure(error)); }
  }

  async function tell(make) {
    try {
      const { key, record } = await make();
      const text = h("code", { class: "secret" }, key);
      fill(made, h("div", { class: "answer" }, h("p", {}, h("strong", {}, `The key of ${record.name} (${record.id}). `), "It is shown now and never again."), h("p", {}, text), h("p", {}, copyButton(() => key, "Copy the key"))));
      await look();
      return true;
    } catch (error) {
      fill(made, failure(error));
      return false;
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
    const bars = Object.entries(BUDGETS).map(([limit, label]) => [label, used[limit] ?? 0, record[limit] ?? defaults[limit]]).filter(([, , most]) => most).map((each) => bar(...each));
    const bounds = LIMITS.filter(([limit]) => record[limit] !== undefined && !(BUDGETS[limit] && record[limit])).map(([limit, label]) => `${label.toLowerCase()} ${record[limit] === 0 ? "without limit" : number(record[limit])}`);
    const actions = [h("button", { type: "button", class: "quiet", onclick: () => open(record) }, "Edit"),
      h("button", { type: "button", class: "quiet", onclick: () => tell(() => postJson(`/api/admin/keys/${record.id}/rotate`, undefined)) }, "Rotate"),
      record.id === own ? h("small", {}, "in use here") : sure("Revoke", "Revoke for ever?", async () => {
        try {
          await send("DELETE", `/api/admin/keys/${record.id}`);
          fill(made, h("p", {}, `${record.name} (${record.id}) is revoked; it is refused within five seconds.`));
          await look();
        } catch (error) { fill(made, failure(error)); }
      })];
    return [h("span", {}, record.name, " ", h("code", {}, record.id), h("small", { class: "made" }, ` made ${day(record.created)}`)), record.scopes.join(", "), bars.length || bounds.length ? h("div", {}, bars, bounds.join(", ")) : "as configured",
      record.expires ? h("code", {}, day(record.expires)) : "never", number(used.requests), number(used.tokens), h("span", { class: "row" }, actions)];
  }

  /** A budget and what is used of it. */
  function bar(label, used, most) {
    const part = used / most;
    return h("div", { class: "meter" }, h("span", {}, label), share(part, part > 0.9 ? "bad-mark" : part > 0.7 ? "warn-mark" : "good-mark"), h("span", {}, `${number(used)} of ${number(most)}`));
  }

  /** What each key has used: in 30 days, and of its budgets, which begin with the day and the month in UTC. */
  function usedOf(rows) {
    const today = day(Date.now() / 1000), all = new Map();
    for (const each of rows) {
      const used = all.get(each.key) ?? { requests: 0, tokens: 0, tokens_per_day: 0, tool_calls_per_day: 0, spend_per_month: 0 }, tokens = each.input_tokens + each.output_tokens;
      used.requests += each.requests;
      used.tokens += tokens;
      if (each.day === today) { used.tokens_per_day += tokens; used.tool_calls_per_day += each.tool_calls; }
      if (each.day.startsWith(today.slice(0, 7))) used.spend_per_month += each.spend;
      all.set(each.key, used);
    }
    return all;
  }

  async function look() {
    try {
      const since = day(Date.now() / 1000 - 30 * 86400);
      const [{ keys, own }, { rows }, { text }] = await Promise.all([getJson("/api/admin/keys"), getJson(`/api/admin/usage?since=${since}&by=day,key`), getJson("/api/admin/configuration")]);
      const used = usedOf(rows);
      defaults = Object.fromEntries([.../^\[limits\]\n((?:.+\n)*)/m.exec(text)[1].matchAll(/^(\w+) = ([\d.]+)$/gm)].map(([, name, value]) => [name, Number(value)]));
      fill(list, keys.length ? table(`Keys: ${keys.length}; requests and tokens of the last 30 days`, ["Key", "Scopes", "Limits and use", "Ends", "Requests", "Tokens", "Actions"], keys.map((record) => row(record, used.get(record.id) ?? { requests: 0, tokens: 0 }, own)), [4, 5]) : h("p", {}, "There is no key."));
    } catch (error) {
      fill(list, failure(error));
    }
  }
  return { async enter() { await look(); if (!editor.childElementCount) open(); } };
}
