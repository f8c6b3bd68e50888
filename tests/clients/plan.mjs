// One plan on standard input, one report on standard output: the same for every client.
import { text } from "node:stream/consumers";

export async function run(connect) {
  const plan = JSON.parse(await text(process.stdin));
  const { client, protocol } = await connect(plan);
  const { tools } = await client.listTools();
  const answers = [];
  for (const { name, arguments: given, progress } of plan.calls) {
    const steps = [];
    const options = progress ? { onprogress: (step) => steps.push(step.progress) } : {};
    try {
      const result = await call(client, { name, arguments: given }, options);
      answers.push({ isError: result.isError ?? false, text: result.content[0].text, structured: result.structuredContent ?? null, steps });
    } catch (error) {
      answers.push({ code: error.code ?? null, message: String(error.message), steps });
    }
  }
  const report = { protocol, server: client.getServerVersion()?.name, tools: tools.map((tool) => tool.name), answers };
  await client.close();
  console.log(JSON.stringify(report));
}

function call(client, params, options) {
  const isFirstLine = typeof client.getNegotiatedProtocolVersion !== "function";
  return isFirstLine ? client.callTool(params, undefined, options) : client.callTool(params, options);
}
