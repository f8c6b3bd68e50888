declare const process: { argv: string[] };
// A client whose types are made from the gateway's OpenAPI document; it must compile, and its calls must work.
import createClient from "openapi-fetch";
import type { paths } from "./made.js";

const [url, key] = process.argv.slice(2) as [string, string];
const client = createClient<paths>({ baseUrl: `${url}/api`, headers: { Authorization: `Bearer ${key}` } });

const models = await client.GET("/v1/models");
const usage = await client.GET("/admin/usage", { params: { query: { by: "model" } } });
const preview = await client.POST("/admin/sanitize", { body: { text: "mail jane.roe@corporation.com" } });
const chat = await client.POST("/v1/chat/completions", { body: { model: "SvcLLM", messages: [{ role: "user", content: "Hello" }] } });
const missing = await client.GET("/v1/responses/{response_id}", { params: { path: { response_id: "resp_none" } } });
const tools = await client.POST("/tools/websearch/mcp", { body: { jsonrpc: "2.0", id: 1, method: "tools/list" } });

console.log(JSON.stringify({
  models: models.data?.data.length,
  by: usage.data?.by,
  masked: preview.data?.request_text,
  answer: typeof chat.data === "object" ? chat.data.id : undefined, // a stream would be text
  missing: missing.error?.error.message,
  tools: typeof tools.data === "object" ? Object.keys(tools.data.result ?? {}) : [],
}));
