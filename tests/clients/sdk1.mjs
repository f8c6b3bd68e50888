// The TypeScript SDK, 1.x line. See official.py for what goes in and out.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { run } from "./plan.mjs";

await run(async ({ url, key }) => {
  const client = new Client({ name: "gateway-tests", version: "1" });
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  await client.connect(transport);
  return { client, protocol: transport.protocolVersion };
});
