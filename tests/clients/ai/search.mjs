// The Vercel AI SDK with its own web search tool. In: {url, key, stream}; out: {text, sources, calls}.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";
import { readFileSync } from "node:fs";

const plan = JSON.parse(readFileSync(0, "utf8"));
const openai = createOpenAI({ baseURL: plan.url, apiKey: plan.key });
const tools = { web_search: openai.tools.webSearch({ searchContextSize: "low" }) };
const asked = { model: openai.responses("SvcLLM"), prompt: "What is the capital of France?", tools, maxRetries: 0 };
const made = plan.stream ? streamText({ ...asked, onError: ({ error }) => { throw error; } }) : await generateText(asked);
const text = await made.text;
const sources = (await made.sources).map((source) => source.url);
const calls = (await made.toolCalls).map((call) => call.toolName);
console.log(JSON.stringify({ text, sources, calls }));
