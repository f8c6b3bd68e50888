// The Vercel AI SDK: a tool loop and a second turn. In: {url, key, route, stream}; out: {output, calls, second}.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenResponses } from "@ai-sdk/open-responses";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { readFileSync } from "node:fs";
import { z } from "zod";

const plan = JSON.parse(readFileSync(0, "utf8"));
const openai = createOpenAI({ baseURL: plan.url, apiKey: plan.key });
const open = createOpenResponses({ name: "open", url: `${plan.url}/responses`, apiKey: plan.key });
const models = { chat: () => openai.chat("SvcLLM"), responses: () => openai.responses("SvcLLM"), open: () => open("SvcLLM") };
const calls = [];
const add = tool({
  description: "Adds two numbers.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async (given) => { calls.push(given); return String(given.a + given.b); },
});

async function ask(messages) {
  const asked = { model: models[plan.route](), messages, tools: { add }, stopWhen: stepCountIs(4), maxRetries: 0 };
  if (!plan.stream) {
    const made = await generateText(asked);
    return { text: made.text, messages: made.response.messages };
  }
  const made = streamText({ ...asked, onError: ({ error }) => { throw error; } });
  let text = "";
  for await (const piece of made.textStream) text += piece;
  return { text, messages: (await made.response).messages };
}

const messages = [{ role: "user", content: "What is 2 and 3?" }];
const first = await ask(messages);
messages.push(...first.messages, { role: "user", content: "And again?" });
const second = await ask(messages);
console.log(JSON.stringify({ output: first.text, calls, second: second.text }));
