// A streamed answer, then a response that the gateway remembers.
import OpenAI from "openai";

const url = process.env.GATEWAY_URL ?? "http://127.0.0.1:8080";
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: process.env.GATEWAY_KEY ?? "none" });

try {
  const stream = await client.chat.completions.create({
    model: "SvcLLM", max_tokens: 40, stream: true, messages: [{ role: "user", content: "What is a gateway?" }],
  });
  for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? "");
  console.log();

  const response = await client.responses.create({ model: "SvcLLM", input: "Say hello.", max_output_tokens: 20 });
  console.log(response.id, response.output_text);
} catch (error) {
  console.error(`${url}: ${error.message}`);
  process.exitCode = 1;
}
