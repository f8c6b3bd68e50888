// The TypeScript SDK, 2.x line. See official.py for what goes in and out.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { run } from "./plan.mjs";

await run(async ({ url, key, mode }) => {
  const client = new Client({ name: "gateway-tests", version: "1" }, { versionNegotiation: { mode } });
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return { client, protocol: client.getNegotiatedProtocolVersion() };
});
