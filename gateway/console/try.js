// Calls to try: a conversation with a model, streamed, with tools, sources and thoughts; the web tools as one large
// input whose results can be read, looked at as text or JSON. Each call can be copied as curl, Python or JavaScript.

import { copyButton, failure, field, fill, h, select } from "./dom.js";
import { curl, events, getJson, javascript, mcpCurl, python, rpc, send } from "./api.js";
import { link, markdown } from "./markdown.js";
import { dataUrl } from "./ocr.js";

const MAX_PICTURES = 8, MAX_BYTES = 20 * 1024 * 1024;
const EXAMPLES = ["What is HTTP? One sentence.", "Write a haiku about a harbour.", "Translate to French: Where is the station?"];
const TOOL_EXAMPLES = { "websearch-search": "how long until a revoked key is refused", "websearch-extract": "/docs/errors", "websearch-crawl": "/docs/", "websearch-map": "/docs/" };

export function show(panel) {
  const body = h("div"), made = {};
  const choice = h("fieldset", { class: "choice tabs" }, h("legend", { class: "hidden" }, "What to try"));
  for (const [value, label] of [["chat", "Conversation"], ["tools", "Web tools"]]) {
    const input = h("input", { type: "radio", name: "interface", value, id: `interface-${value}`, checked: value === "chat" });
    input.addEventListener("change", () => open(value));
    choice.append(h("label", { for: input.id }, input, label));
  }
  fill(panel, h("h2", { class: "hidden" }, "Try it"), choice, body);
  function open(kind) {
    made[kind] ??= kind === "tools" ? webTools() : conversation();
    fill(body, made[kind].element);
    made[kind].enter?.();
  }
  open("chat");
  return { enter() { for (const part of Object.values(made)) part.enter?.(); } };
}

/** The same call in three languages, in a box that folds. `calls()`: `[[name, text]]`. */
function asCode(calls) {
  const shown = h("pre", { tabindex: "0" }), pick = h("fieldset", { class: "choice tabs" }, h("legend", { class: "hidden" }, "Language"));
  const box = h("details", { class: "code" }, h("summary", {}, "As curl, Python, JavaScript"), pick, copyButton(() => shown.textContent), shown);
  function draw(chosen) {
    const all = calls();
    shown.textContent = (all.find(([name]) => name === chosen) ?? all[0])[1];
  }
  const group = `code-${Math.random().toString(36).slice(2)}`;
  for (const name of ["curl", "Python", "JavaScript"]) {
    const input = h("input", { type: "radio", name: group, id: `${group}-${name}`, checked: name === "curl" });
    input.addEventListener("change", () => draw(name));
    pick.append(h("label", { for: input.id }, input, name));
  }
  box.addEventListener("toggle", () => { if (box.open) draw(pick.querySelector("input:checked").id.split("-").at(-1)); });
  return box;
}

function conversation() {
  const model = select(["SvcLLM"], "SvcLLM"), route = select(["responses", "chat"], "responses"), system = h("textarea", { rows: 2, placeholder: "none" });
  const tokens = h("input", { type: "number", min: 1, max: 100000, value: 400 });
  const search = h("input", { type: "checkbox", id: "with-search" }), stream = h("input", { type: "checkbox", id: "with-stream", checked: true });
  const question = h("textarea", { rows: 3, required: true, placeholder: "Ask the model", "aria-label": "Your message" });
  const file = h("input", { type: "file", id: "pictures", accept: "image/*", multiple: true }), thumbs = h("p", { class: "thumbs" });
  const submit = h("button", { type: "submit" }, "Send"), stop = h("button", { type: "button", class: "quiet", hidden: true }, "Stop"), anew = h("button", { type: "button", class: "quiet" }, "New conversation");
  const turns = h("ol", { class: "turns", "aria-live": "polite" }), raw = h("pre", { tabindex: "0", class: "raw" });
  const examples = h("p", { class: "examples" }, EXAMPLES.map((text) => h("button", { type: "button", class: "quiet", onclick: () => { question.value = text; form.requestSubmit(); } }, text)));
  const form = h("form", {}, question, thumbs, h("p", { class: "row" }, submit, stop, h("label", { class: "pick", for: "pictures" }, file, "Add pictures"), anew));
  let said = [], pictures = [], aborting = null;

  const call = (messages) => {
    const values = { model: model.value, messages, system: system.value.trim(), tokens: Number(tokens.value), search: search.checked, stream: stream.checked };
    return route.value === "chat" ? ["/api/v1/chat/completions", chatBody(values)] : ["/api/v1/responses", responsesBody(values)];
  };
  const code = asCode(() => { const [path, body] = call([...said, { role: "user", text: question.value || "Hello", pictures }]); return [["curl", curl("POST", path, body)], ["Python", python(path, body)], ["JavaScript", javascript(path, body)]]; });
  const element = h("div", { class: "chat" },
    h("div", { class: "talk" }, turns, examples, form, code, h("details", {}, h("summary", {}, "Raw JSON"), copyButton(() => raw.textContent), raw)),
    h("aside", { "aria-label": "Settings" }, field("Model", model), field("Route", route), field("System prompt", system), field("Longest answer, in tokens", tokens),
      h("p", {}, h("label", { for: search.id }, search, "search the web first")), h("p", {}, h("label", { for: stream.id }, stream, "stream"))));

  async function add(files) {
    const images = [...files].filter((each) => each.type.startsWith("image/") && each.size <= MAX_BYTES).slice(0, MAX_PICTURES - pictures.length);
    pictures.push(...await Promise.all(images.map(dataUrl)));
    file.value = "";
    drawThumbs(images.length === files.length ? "" : `At most ${MAX_PICTURES} pictures of 20 MB each.`);
  }
  function drawThumbs(note = "") {
    fill(thumbs, pictures.map((url, index) => h("button", { type: "button", class: "quiet", "aria-label": `Remove picture ${index + 1}`, onclick: () => { pictures.splice(index, 1); drawThumbs(); } }, h("img", { src: url, alt: "" }), "×")), note ? h("small", { role: "alert" }, note) : null);
  }
  file.addEventListener("change", () => add(file.files));
  question.addEventListener("paste", (event) => { if (event.clipboardData.files.length) { event.preventDefault(); add(event.clipboardData.files); } });
  form.addEventListener("dragover", (event) => event.preventDefault());
  form.addEventListener("drop", (event) => { if (event.dataTransfer.files.length) { event.preventDefault(); add(event.dataTransfer.files); } });
  stop.addEventListener("click", () => aborting?.abort());
  anew.addEventListener("click", () => { aborting?.abort(); [said, pictures] = [[], []]; fill(turns); drawThumbs(); examples.hidden = false; raw.textContent = ""; question.focus(); });
  question.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); form.requestSubmit(); } });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = question.value.trim();
    if (!text || aborting) return;
    if (said.at(-1)?.role === "user") said.pop(); // it was not answered
    said.push({ role: "user", text, pictures });
    turns.append(h("li", { class: "user" }, h("div", {}, pictures.map((url, index) => h("img", { src: url, alt: `picture ${index + 1}` })), h("p", {}, text))));
    [question.value, pictures, examples.hidden] = ["", [], true];
    drawThumbs();
    reply();
  });

  /** Ask for the answer to what was said last. */
  async function reply() {
    const mine = said, [path, body] = call(said), shown = h("div", { class: "answer", "aria-busy": "true" }, h("p", { class: "hint" }, "waiting for the first words …"));
    const answer = { text: "", base: 0, reasoning: "", calls: [], sources: [], cites: [], note: "", usage: null };
    const again = h("button", { type: "button", class: "quiet again", onclick: () => { item.remove(); if (said.at(-1).role !== "user") said.pop(); reply(); } }, "Ask again");
    const actions = h("p", { class: "row" }, copyButton(() => answer.text), again), item = h("li", { class: "model" }, shown, actions);
    for (const each of turns.querySelectorAll(".again")) each.remove();
    actions.hidden = true;
    turns.append(item);
    [submit.disabled, stop.hidden, raw.textContent] = [true, false, ""];
    aborting = new AbortController();
    const begun = performance.now(), draw = () => fill(shown, shownAnswer(answer, performance.now() - begun)), take = path.endsWith("/responses") ? takeResponse : takeChat;
    try {
      const reply = await send("POST", path, body, { signal: aborting.signal });
      if (body.stream) {
        const lines = [];
        let due = 0;
        for await (const each of events(reply)) {
          if (lines.length < 400) lines.push(JSON.stringify(each.data));
          take(answer, each.data);
          if (performance.now() > due) { draw(); due = performance.now() + 60; }
        }
        raw.textContent = lines.join("\n");
      } else {
        const data = await reply.json();
        raw.textContent = JSON.stringify(data, null, 2);
        take(answer, data);
      }
      draw();
      mine.push({ role: "assistant", text: answer.text, pictures: [] });
    } catch (error) {
      draw();
      shown.append(error.name === "AbortError" ? h("p", { class: "hint" }, "stopped") : failure(error));
    }
    shown.setAttribute("aria-busy", "false");
    [submit.disabled, stop.hidden, actions.hidden, aborting] = [false, true, false, null];
    question.focus();
  }
  return {
    element,
    async enter() {
      try {
        const names = (await getJson("/api/v1/models")).data.filter((each) => each.kind === "text").map((each) => each.id);
        if (names.length) fill(model, names.map((name) => h("option", { value: name, selected: name === model.value }, name)));
      } catch { /* the embedded model's name stays */ }
    },
  };
}

/** What was said as a route has it; `text` and `picture` make its parts. */
const content = (messages, text, picture) => messages.map((each) => ({ role: each.role, content: each.pictures.length ? [text(each.text), ...each.pictures.map(picture)] : each.text }));

const chatBody = ({ model, messages, system, tokens, search, stream }) => ({
  model,
  messages: [...(system ? [{ role: "system", content: system }] : []), ...content(messages, (text) => ({ type: "text", text }), (url) => ({ type: "image_url", image_url: { url } }))],
  max_tokens: tokens,
  ...(search ? { web_search_options: {} } : {}),
  ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
});

const responsesBody = ({ model, messages, system, tokens, search, stream }) => ({
  model,
  input: messages.length === 1 && !messages[0].pictures.length ? messages[0].text : content(messages, (text) => ({ type: "input_text", text }), (url) => ({ type: "input_image", image_url: url })),
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
  else if (type === "response.output_item.added" && data.item.type === "message") beginText(answer);
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
      beginText(answer);
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

/** Another text of the answer begins, by which its citations count. */
function beginText(answer) {
  if (answer.text) answer.text += "\n\n";
  answer.base = [...answer.text].length;
}

function takeSource(answer, { url, title, start_index: start, end_index: end }) {
  if (!url) return;
  if (!answer.sources.some((each) => each.url === url)) answer.sources.push({ url, title });
  if (end > start) answer.cites.push({ start: answer.base + start, end: answer.base + end, url });
}

/** The text whose citations are links with the numbers of their sources; places count code points. */
function cited({ text, cites, sources }) {
  const characters = [...text], parts = [];
  let last = 0;
  for (const { start, end, url } of cites.toSorted((a, b) => a.start - b.start)) {
    if (!URL.canParse(url) || end > characters.length) continue;
    const visible = characters.slice(Math.max(start, last), end).join(""), target = new URL(url).href.replace(/[()|<>]/g, (each) => `%${each.charCodeAt(0).toString(16)}`);
    parts.push(characters.slice(last, start).join(""), visible.includes("://") ? `${visible} ` : "", `[[${sources.findIndex((each) => each.url === url) + 1}]](${target})`);
    last = Math.max(last, end);
  }
  return [...parts, characters.slice(last).join("")].join("");
}

function shownAnswer(answer, took) {
  return [
    answer.reasoning ? h("details", {}, h("summary", {}, "Reasoning"), h("p", {}, answer.reasoning)) : null,
    answer.calls.filter(Boolean).map((call) => h("p", { class: "call" }, h("strong", {}, call.name), " ", h("code", {}, call.arguments))),
    answer.text ? markdown(cited(answer)) : null,
    answer.sources.length ? [h("h3", {}, "Sources"), h("ol", {}, answer.sources.map((each) => h("li", {}, link(each.url, [each.title || each.url]))))] : null,
    answer.note ? h("p", { class: "error" }, answer.note) : null,
    h("p", { class: "hint" }, `${(took / 1000).toFixed(1)} s${answer.usage ? `, ${answer.usage[0]} tokens in, ${answer.usage[1]} out` : ""}`),
  ];
}

function webTools() {
  const pick = h("fieldset", { class: "choice tabs" }, h("legend", { class: "hidden" }, "Tool")), form = h("form", { class: "tool" }), out = h("div", { "aria-live": "polite" });
  const element = h("div", {}, pick, form, out);
  let tools = [];
  function choose(tool) {
    fill(out);
    fill(form, toolForm(tool, form, out));
  }
  return {
    element,
    async enter() {
      if (tools.length) return;
      try {
        tools = (await rpc("tools/list", {})).tools;
        for (const [index, tool] of tools.entries()) {
          const input = h("input", { type: "radio", name: "tool", id: `tool-${tool.name}`, value: tool.name, checked: index === 0 });
          input.addEventListener("change", () => choose(tool));
          pick.append(h("label", { for: input.id }, input, tool.name.replace("websearch-", "")));
        }
        choose(tools[0]);
      } catch (error) {
        fill(form, failure(error));
      }
    },
  };
}

/** One large input for what the tool must have, the rest folded. */
function toolForm(tool, form, out) {
  const required = new Set(tool.inputSchema.required ?? []);
  const inputs = Object.entries(tool.inputSchema.properties ?? {}).map(([name, schema]) => [name, inputFor(schema, required.has(name))]);
  const main = inputs.filter(([name]) => required.has(name)), rest = inputs.filter(([name]) => !required.has(name));
  const example = TOOL_EXAMPLES[tool.name];
  const button = h("button", { type: "submit" }, "Run");
  const call = () => {
    const made = { name: tool.name, arguments: {} };
    for (const [name, input] of inputs) {
      const value = input.value();
      if (value !== undefined) made.arguments[name] = value;
    }
    return made;
  };
  form.onsubmit = async (event) => {
    event.preventDefault();
    const made = call(), begun = performance.now();
    button.disabled = true;
    fill(out, h("p", { class: "hint" }, "running …"));
    try {
      const result = await rpc("tools/call", made), data = JSON.parse(result.content[0].text);
      fill(out, result.isError ? h("p", { class: "error", role: "alert" }, data.data.error.message) : resultTabs(data.data),
        h("p", { class: "hint" }, `${((performance.now() - begun) / 1000).toFixed(2)} s`));
    } catch (error) {
      fill(out, failure(error));
    }
    button.disabled = false;
  };
  return [main.map(([name, input]) => { input.element.classList.add("large"); return field(name, input.element, input.hint); }),
    h("p", { class: "row" }, button, example ? h("button", { type: "button", class: "quiet", onclick: () => { main[0][1].element.value = example.startsWith("/") ? new URL(example, location.href).href : example; form.requestSubmit(); } }, "Try an example") : null),
    rest.length ? h("details", {}, h("summary", {}, "More arguments"), h("div", { class: "columns" }, rest.map(([name, input]) => field(name, input.element, input.hint)))) : null,
    h("details", { class: "code" }, h("summary", {}, "As curl"), (() => { const pre = h("pre", { tabindex: "0" }); const box = h("div", {}, copyButton(() => mcpCurl("tools/call", call())), pre); form.addEventListener("input", () => { pre.textContent = mcpCurl("tools/call", call()); }); pre.textContent = mcpCurl("tools/call", call()); return box; })()),
    h("p", { class: "hint" }, tool.description)];
}

/** The data of a web tool: read, as the text it is, as JSON, and its pictures. */
function resultTabs(data) {
  const pictures = [...(data.images ?? []), ...(data.results ?? []).flatMap((each) => each.images ?? [])].map((each) => each.url ?? each);
  const views = {
    Read: () => shownData(data),
    Text: () => h("pre", { tabindex: "0", class: "raw" }, (data.results ?? []).map((each) => (typeof each === "string" ? each : each.raw_content ?? each.content ?? "")).join("\n\n") || "no text"),
    JSON: () => h("pre", { tabindex: "0", class: "raw" }, JSON.stringify(data, null, 2)),
    ...(pictures.length ? { Pictures: () => h("ul", {}, pictures.map((url) => h("li", {}, link(url, [url])))) } : {}),
  };
  const box = h("div", { class: "answer" }), pick = h("fieldset", { class: "choice tabs" }, h("legend", { class: "hidden" }, "View"));
  const group = `view-${Math.random().toString(36).slice(2)}`;
  for (const [index, name] of Object.keys(views).entries()) {
    const input = h("input", { type: "radio", name: group, id: `${group}-${name}`, checked: index === 0 });
    input.addEventListener("change", () => fill(box, views[name]()));
    pick.append(h("label", { for: input.id }, input, name));
  }
  fill(box, views.Read());
  return [pick, box];
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
    return h("li", {}, h("h3", {}, link(each.url, [each.title || each.url])), h("p", { class: "hint" }, each.url, each.score === undefined ? "" : ` · ${each.score.toFixed(2)}`),
      each.raw_content ? h("details", { open: results.length === 1 }, h("summary", {}, "Content"), markdown(text)) : markdown(text));
  });
  return [data.note ? h("p", { class: "hint" }, data.note) : null, results.length ? h("ol", { class: "results" }, shown) : null, failed,
    !results.length && !failed.length ? h("pre", { tabindex: "0" }, JSON.stringify(data, null, 2)) : null];
}
