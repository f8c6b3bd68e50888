// Calls of the gateway's own interface, below /api of this origin. The key lives in this tab's session storage alone.

const SLOT = "gateway-key";

/** The key that was typed in, or "". */
export const key = () => sessionStorage.getItem(SLOT) ?? "";
export const setKey = (value) => (value ? sessionStorage.setItem(SLOT, value) : sessionStorage.removeItem(SLOT));

/** What the gateway refused, in its own words. */
export class ApiError extends Error {
  constructor(message, status = 0, requestId = "") {
    super(message);
    this.status = status;
    this.requestId = requestId;
  }
}

/** The answer to one call, its body unread. Throws ApiError for every status above 399. `headers`: more of them. */
export async function send(method, path, body, { signal, headers = {} } = {}) {
  const all = { ...headers };
  if (key()) all.Authorization = `Bearer ${key()}`;
  if (body !== undefined) all["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers: all, body: body === undefined ? undefined : JSON.stringify(body), signal, credentials: "omit", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("the gateway does not answer; it may have stopped, or the tunnel to it has closed");
  }
  if (!answer.ok) {
    const id = answer.headers.get("X-Request-Id") ?? "";
    let message = `the gateway answered with status ${answer.status}`;
    try {
      const data = await answer.json();
      message = data.error?.message ?? message;
    } catch { /* not JSON: the status says it */ }
    if (answer.status === 401 && !key()) message = "this needs an API key: sign in (the first one is in the file dev-key of the state directory)";
    throw new ApiError(message, answer.status, id);
  }
  return answer;
}

export const getJson = async (path, options) => (await send("GET", path, undefined, options)).json();
export const postJson = async (path, body, options) => (await send("POST", path, body, options)).json();
export const getText = async (path) => (await send("GET", path)).text();

/** The events of a stream: `{event, data}`, `data` decoded; the closing `[DONE]` ends it. */
export async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    rest += (value ?? "").replaceAll("\r\n", "\n");
    let end;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const block = rest.slice(0, end);
      rest = rest.slice(end + 2);
      const data = [], event = { event: "message" };
      for (const line of block.split("\n")) {
        if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
        else if (line.startsWith("event:")) event.event = line.slice(6).trim();
      }
      if (data.join("\n") === "[DONE]") return;
      if (data.length) yield { ...event, data: JSON.parse(data.join("\n")) };
    }
    if (done) return;
  }
}

const MCP = "/api/tools/websearch/mcp";
const MCP_HEADERS = { Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18" };
let calls = 0;

/** The result of a JSON-RPC call of the web tools. Throws ApiError. */
export async function rpc(method, params, signal) {
  const answer = await send("POST", MCP, rpcBody(method, params), { signal, headers: MCP_HEADERS });
  let message = null;
  if (answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
    for await (const each of events(answer)) if ("id" in each.data) message = each.data;
  } else message = await answer.json();
  if (!message) throw new ApiError("the answer ended before its result");
  if (message.error) throw new ApiError(message.error.message, 200, answer.headers.get("X-Request-Id") ?? "");
  return message.result;
}

const rpcBody = (method, params) => ({ jsonrpc: "2.0", id: ++calls, method, params });

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The address of a path below /api on the product listener, which programs call; the console's own data stays here. */
function address(path) {
  const product = new URL(document.querySelector("meta[name=product]").content || location.origin);
  if (["0.0.0.0", "[::]"].includes(product.hostname)) product.hostname = location.hostname;
  return path.startsWith("/api/admin") ? new URL(path, location.href).href : `${product.href.replace(/\/$/, "")}${path.slice(4)}`;
}

/** A body to be shown: of a file in base64 only the beginning. */
const short = (body) => JSON.parse(JSON.stringify(body, (name, value) => (typeof value === "string" && value.startsWith("data:") ? `${value.slice(0, 60)}…` : value)));

/** The line for a shell that makes the same call; the key stays out of it. */
export function curl(method, path, body, headers = {}) {
  const lines = [`curl -sN ${method === "GET" ? "" : `-X ${method} `}${quoted(address(path))}`, `-H "Authorization: Bearer $GATEWAY_KEY"`];
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(short(body)))}`);
  return lines.join(" \\\n  ");
}

const base = () => address("/api/v1");
const sdkCall = (path) => (path.endsWith("/responses") ? "responses" : "chat.completions");

/** A value as Python writes it. */
function pythonValue(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${pythonValue(each)}`).join(", ")}}`;
  return JSON.stringify(value);
}

/** The same call with OpenAI's SDK for Python. */
export const python = (path, body) => [
  "import os", "from openai import OpenAI", "",
  `client = OpenAI(base_url=${JSON.stringify(base())}, api_key=os.environ["GATEWAY_KEY"])`,
  `answer = client.${sdkCall(path)}.create(`,
  ...Object.entries(short(body)).map(([name, value]) => `    ${name}=${pythonValue(value)},`),
  ")", body.stream ? "for event in answer:\n    print(event)" : "print(answer)"].join("\n");

/** The same call with OpenAI's SDK for JavaScript. */
export const javascript = (path, body) => [
  'import OpenAI from "openai";', "",
  `const client = new OpenAI({ baseURL: ${JSON.stringify(base())}, apiKey: process.env.GATEWAY_KEY });`,
  `const answer = await client.${sdkCall(path)}.create(${JSON.stringify(short(body), null, 2)});`,
  body.stream ? "for await (const event of answer) console.log(event);" : "console.log(answer);"].join("\n");

export const mcpCurl = (method, params) => curl("POST", MCP, { jsonrpc: "2.0", id: 1, method, params }, MCP_HEADERS);
