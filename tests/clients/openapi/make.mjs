// Checks the OpenAPI document whose address is the first argument, makes types of it, compiles the client and runs it.
// Prints {problems: [...], ...what the client saw}.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import openapiTS, { astToString } from "openapi-typescript";

const here = dirname(fileURLToPath(import.meta.url)), made = join(here, "node_modules/.made"), [url, key] = process.argv.slice(2);
const text = await (await fetch(`${url}/openapi.json`)).text();
const config = await createConfig({ extends: ["minimal"], rules: { struct: "error", "no-unresolved-refs": "error", "operation-operationId-unique": "error", "path-parameters-defined": "error", "security-defined": "error", "no-invalid-media-type-examples": "error", "operation-summary": "error" } });
const problems = (await lintFromString({ source: text, absoluteRef: join(here, "openapi.json"), config })).filter((each) => each.severity === "error");
mkdirSync(made, { recursive: true });
copyFileSync(join(here, "client.ts"), join(made, "client.ts"));
writeFileSync(join(made, "package.json"), '{"type": "module"}');
writeFileSync(join(made, "made.d.ts"), astToString(await openapiTS(JSON.parse(text))));
let compiled = "";
try {
  execFileSync(process.execPath, [join(here, "node_modules/typescript/bin/tsc"), "--strict", "--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext", "--lib", "es2022,dom", "--outDir", made, join(made, "client.ts")], { cwd: made });
} catch (error) {
  compiled = String(error.stdout);
  console.error(compiled);
}
const seen = JSON.parse(execFileSync(process.execPath, [join(made, "client.js"), url, key]));
console.log(JSON.stringify({ problems: [...problems.map((each) => `${each.ruleId}: ${each.message} at ${each.location?.[0]?.pointer}`), ...(compiled ? [compiled] : [])], ...seen }));
