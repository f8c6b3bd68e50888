// Calls to try: chat and responses as streams, with tools and citations shown; the web tools by a form made of each
// tool's own schema. Every answer has the raw JSON and the curl line of the same call beside it.

import { copyButton, failure, field, fill, h, select } from "./dom.js";
import { curl, events, getJson, mcpCurl, rpc, send } from "./api.js";
import { link, markdown } from "./markdown.js";

const KEPT_EVENTS = 400;

export function show(panel) {
  const body = h("div");
  const choice = h("fieldset", { class: "choice" }, h("legend", {}, "Interface"));
  const kinds = [["chat", "Chat"], ["responses", "Responses"], ["tools", "Web tools"]];
  for (const [value, label] of kinds) {
    const input = h("input", { type: "radio", name: "interface", value, id: `interface-${value}`, checked: value === "chat" });
    input.addEventListener("change", () => open(value));
    choice.append(h("label", { for: input.id }, input, label));
  }
  fill(panel, h("h2", {}, "Try it"), choice, body);
  const made = {};
  function open(kind) {
    made[kind] ??= kind === "tools" ? toolForms() : questionForm(kind);
    fill(body, made[kind].element);
    made[kind].enter?.();
  }
  open("chat");
  return { enter() { made.chat?.enter?.(); made.responses?.enter?.(); made.tools?.enter?.(); } };
}

/** The place of an answer: what a person reads, then the call as curl and the JSON as it came. */
function output() {
  const shown = h("div", { class: "answer", "aria-live": "polite", "aria-busy": "false" });
  const line = h("pre", { tabindex: "0" }), raw = h("pre", { tabindex: "0", class: "raw" });
  const element = h("div", { hidden: true }, h("h3", {}, "Answer"), shown,
    h("details", {}, h("summary", {}, "The same call with curl"), copyButton(() => line.textContent), line),
    h("details", {}, h("summary", {}, "Raw JSON"), copyButton(() => raw.textContent), raw));
  return { element, shown, line, raw };
}

function questionForm(kind) {
  const model = select(["SvcLLM"], "SvcLLM"), question = h("textarea", { rows: 5, required: true }, "");
  const system = h("textarea", { rows: 2 }), tokens = h("input", { type: "number", min: 1, max: 100000, value: 400 });
  const search = h("input", { type: "checkbox", id: `${kind}-search` }), stream = h("input", { type: "checkbox", id: `${kind}-stream`, checked: true });
  const submit = h("button", { type: "submit" }, "Send"), stop = h("button", { type: "button", hidden: true }, "Stop");
  const out = output();
  const form = h("form", {},
    field("Model", model), field("Question", question), field(kind === "chat" ? "System message (optional)" : "Instructions (optional)", system),
    field("Longest answer, in tokens", tokens),
    h("p", {}, h("label", { for: search.id }, search, "search the web first"), h("label", { for: stream.id }, stream, "stream")),
    h("p", {}, submit, stop));
  let aborting = null;
  stop.addEventListener("click", () => aborting?.abort());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = { model: model.value, question: question.value, system: system.value.trim(), tokens: Number(tokens.value), search: search.checked, stream: stream.checked };
    const [path, body] = kind === "chat" ? ["/api/v1/chat/completions", chatBody(values)] : ["/api/v1/responses", responsesBody(values)];
    out.element.hidden = false;
    out.line.textContent = curl("POST", path, body);
    out.raw.textContent = "";
    fill(out.shown, h("p", { class: "hint" }, "waiting for the first words …"));
    out.shown.setAttribute("aria-busy", "true");
    aborting = new AbortController();
    [submit.disabled, stop.hidden] = [true, false];
    const begun = performance.now();
    const answer = { text: "", reasoning: "", calls: [], sources: [], note: "", usage: null };
    const draw = () => fill(out.shown, shownAnswer(answer, performance.now() - begun));
    try {
      const reply = await send("POST", path, body, { signal: aborting.signal });
      const take = kind === "chat" ? takeChat : takeResponse;
      if (values.stream) {
        const lines = [];
        let due = 0;
        for await (const each of events(reply)) {
          lines.push(JSON.stringify(each.data));
          take(answer, each.data);
          if (performance.now() > due) { draw(); due = performance.now() + 60; }
        }
        out.raw.textContent = lines.slice(-KEPT_EVENTS).join("\n");
      } else {
        const data = await reply.json();
        out.raw.textContent = JSON.stringify(data, null, 2);
        take(answer, data);
      }
      draw();
    } catch (error) {
      draw();
      out.shown.append(error.name === "AbortError" ? h("p", { class: "hint" }, "stopped") : failure(error));
    }
    out.shown.setAttribute("aria-busy", "false");
    [submit.disabled, stop.hidden] = [false, true];
  });
  return {
    element: h("div", {}, form, out.element),
    async enter() {
      try {
        const names = (await getJson("/api/v1/models")).data.filter((each) => each.kind === "text").map((each) => each.id);
        if (names.length) fill(model, names.map((name) => h("option", { value: name, selected: name === model.value }, name)));
      } catch { /* without a key the embedded model's name stays */ }
    },
  };
}

const chatBody = ({ model, question, system, tokens, search, stream }) => ({
  model,
  messages: [...(system ? [{ role: "system", content: system }] : []), { role: "user", content: question }],
  max_tokens: tokens,
  ...(search ? { web_search_options: {} } : {}),
  ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
});

const responsesBody = ({ model, question, system, tokens, search, stream }) => ({
  model,
  input: question,
  ...(system ? { instructions: system } : {}),
  max_output_tokens: tokens,
  ...(search ? { tools: [{ type: "web_search" }] } : {}),
  ...(stream ? { stream: true } : {}),
  store: false,
});

/** Add a chat answer, whole or one event of it. */
function takeChat(answer, data) {
  if (data.error) { answer.note = data.error.message; return; }
  const choice = data.choices?.[0], part = choice?.delta ?? choice?.message ?? {};
  answer.text += part.content ?? "";
  answer.reasoning += part.reasoning_content ?? "";
  for (const call of part.tool_calls ?? []) takeCall(answer, call.index ?? answer.calls.length, call.function?.name, call.function?.arguments);
  for (const each of part.annotations ?? []) if (each.url_citation) takeSource(answer, each.url_citation);
  if (choice?.finish_reason && choice.finish_reason !== "stop") answer.note = `ended because of: ${choice.finish_reason}`;
  if (data.usage) answer.usage = [data.usage.prompt_tokens, data.usage.completion_tokens];
}

/** Add a response, whole or one event of it. */
function takeResponse(answer, data) {
  const type = data.type ?? "";
  if (type === "response.output_text.delta") answer.text += data.delta;
  else if (type.startsWith("response.reasoning") && type.endsWith(".delta")) answer.reasoning += data.delta ?? "";
  else if (type === "response.output_text.annotation.added") takeSource(answer, data.annotation);
  else if (type === "response.output_item.done") takeItem(answer, data.item, false);
  else if (type === "error") answer.note = data.message ?? data.error?.message ?? "failed";
  const whole = data.object === "response" ? data : ["response.completed", "response.incomplete", "response.failed"].includes(type) ? data.response : null;
  if (!whole) return;
  if (data.object === "response") for (const item of whole.output ?? []) takeItem(answer, item, true);
  if (whole.error) answer.note = whole.error.message;
  if (whole.incomplete_details) answer.note = `ended because of: ${whole.incomplete_details.reason}`;
  if (whole.usage) answer.usage = [whole.usage.input_tokens, whole.usage.output_tokens];
}

function takeItem(answer, item, withText) {
  if (item.type === "web_search_call") answer.calls.push({ name: `web search (${item.status})`, arguments: item.action?.query ?? item.action?.url ?? "" });
  else if (item.type.endsWith("_call")) answer.calls.push({ name: item.name ?? item.type, arguments: item.arguments ?? "" });
  else if (item.type === "message" && withText) {
    for (const part of item.content ?? []) {
      answer.text += part.text ?? part.refusal ?? "";
      for (const each of part.annotations ?? []) takeSource(answer, each);
    }
  }
}

function takeCall(answer, index, name, text) {
  answer.calls[index] ??= { name: "", arguments: "" };
  answer.calls[index].name += name ?? "";
  answer.calls[index].arguments += text ?? "";
}

function takeSource(answer, { url, title }) {
  if (url && !answer.sources.some((each) => each.url === url)) answer.sources.push({ url, title });
}

function shownAnswer(answer, took) {
  return [
    answer.reasoning ? h("details", {}, h("summary", {}, "Reasoning"), h("p", {}, answer.reasoning)) : null,
    answer.calls.filter(Boolean).map((call) => h("p", { class: "call" }, h("strong", {}, call.name), " ", h("code", {}, call.arguments))),
    answer.text ? markdown(answer.text) : null,
    answer.sources.length ? [h("h4", {}, "Sources"), h("ol", {}, answer.sources.map((each) => h("li", {}, link(each.url, [each.title || each.url]))))] : null,
    answer.note ? h("p", { class: "error" }, answer.note) : null,
    h("p", { class: "hint" }, `${(took / 1000).toFixed(1)} s${answer.usage ? `, ${answer.usage[0]} tokens in, ${answer.usage[1]} out` : ""}`),
  ];
}

function toolForms() {
  const choice = h("select", { id: "tool" }), form = h("form"), out = output();
  const element = h("div", {}, h("p", { class: "field" }, h("label", { for: "tool" }, "Tool"), choice), form, out.element);
  let tools = [];
  choice.addEventListener("change", draw);
  function draw() {
    const tool = tools.find((each) => each.name === choice.value);
    if (tool) fill(form, toolForm(tool, out));
  }
  return {
    element,
    async enter() {
      if (tools.length) return;
      try {
        tools = (await rpc("tools/list", {})).tools;
        fill(choice, tools.map((each) => h("option", { value: each.name }, each.name)));
        draw();
      } catch (error) {
        fill(form, failure(error));
      }
    },
  };
}

/** Fields for a tool's arguments. The form's own submit is not used twice: `form` holds one tool at a time. */
function toolForm(tool, out) {
  const required = new Set(tool.inputSchema.required ?? []);
  const inputs = Object.entries(tool.inputSchema.properties ?? {}).map(([name, schema]) => [name, inputFor(schema, required.has(name))]);
  const main = inputs.filter(([name]) => required.has(name)), rest = inputs.filter(([name]) => !required.has(name));
  const asField = ([name, input]) => field(name, input.element, input.hint);
  const button = h("button", { type: "button" }, "Call");
  button.addEventListener("click", async () => {
    for (const [, input] of main) if (!input.element.reportValidity()) return;
    const call = { name: tool.name, arguments: {} };
    for (const [name, input] of inputs) {
      const value = input.value();
      if (value !== undefined) call.arguments[name] = value;
    }
    out.element.hidden = false;
    out.line.textContent = mcpCurl("tools/call", call);
    out.raw.textContent = "";
    out.shown.setAttribute("aria-busy", "true");
    fill(out.shown, h("p", { class: "hint" }, "calling …"));
    button.disabled = true;
    const begun = performance.now();
    try {
      const result = await rpc("tools/call", call);
      const document_ = JSON.parse(result.content[0].text);
      out.raw.textContent = JSON.stringify(document_, null, 2);
      fill(out.shown, result.isError ? h("p", { class: "error", role: "alert" }, document_.data.error.message) : shownData(document_.data),
        h("p", { class: "hint" }, `${((performance.now() - begun) / 1000).toFixed(2)} s`));
    } catch (error) {
      fill(out.shown, failure(error));
    }
    out.shown.setAttribute("aria-busy", "false");
    button.disabled = false;
  });
  return [h("p", { class: "hint" }, tool.description), main.map(asField),
    rest.length ? h("details", {}, h("summary", {}, "More arguments"), rest.map(asField)) : null, h("p", {}, button)];
}

/** An input for a JSON Schema: `{element, hint, value()}`; an undefined value is not sent. */
export function inputFor(schema, isRequired) {
  const own = schema.anyOf?.find((each) => each.type !== "null") ?? schema;
  const hint = schema.description ?? "";
  if (own.enum) {
    const element = select(isRequired ? own.enum : ["", ...own.enum], "");
    return { element, hint, value: () => element.value || undefined };
  }
  if (own.type === "boolean") {
    const element = select(["", "true", "false"], "");
    return { element, hint, value: () => (element.value ? element.value === "true" : undefined) };
  }
  if (own.type === "integer" || own.type === "number") {
    const element = h("input", { type: "number", min: own.minimum, max: own.maximum, placeholder: schema.default ?? "", required: isRequired });
    return { element, hint, value: () => (element.value ? Number(element.value) : undefined) };
  }
  if (own.type === "array") {
    const element = h("textarea", { rows: 2, required: isRequired });
    return { element, hint: `${hint} One a line.`, value: () => {
      const lines = element.value.split("\n").map((line) => line.trim()).filter(Boolean);
      return lines.length ? lines : undefined;
    } };
  }
  const element = h("input", { type: own.format === "date" ? "date" : "text", maxlength: own.maxLength, required: isRequired });
  return { element, hint, value: () => element.value || undefined };
}

/** The data of a web tool as a person reads it. */
function shownData(data) {
  const results = Array.isArray(data.results) ? data.results : [];
  const failed = (data.failed_results ?? []).map((each) => h("p", { class: "error" }, `${each.url}: ${each.error}`));
  const shown = results.map((each) => {
    if (typeof each === "string") return h("li", {}, link(each, [each]));
    const text = each.raw_content ?? each.content ?? "";
    return h("li", {}, h("h4", {}, link(each.url, [each.title || each.url])), h("p", { class: "hint" }, each.url, each.score === undefined ? "" : ` · ${each.score.toFixed(2)}`),
      each.raw_content ? h("details", { open: results.length === 1 }, h("summary", {}, "Content"), markdown(text)) : markdown(text));
  });
  return [data.note ? h("p", { class: "hint" }, data.note) : null, results.length ? h("ol", { class: "results" }, shown) : null, failed,
    !results.length && !failed.length ? h("pre", { tabindex: "0" }, JSON.stringify(data, null, 2)) : null];
}
