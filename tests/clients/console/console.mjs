// Drives the console in a real browser as a person would, and tells what was seen. Reads a plan from standard input:
// {part, url, key, chromium, …}; prints {console, outside, dialogs, axe, bytes, and what the function `part` returns}.

import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const plan = JSON.parse(readFileSync(0, "utf8"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
const browser = await chromium.launch({ executablePath: plan.chromium, args: flags });
const report = { console: [], outside: [], dialogs: 0, hacked: false, tabs: {}, axe: [], bytes: 0 };
const WIDE = { width: 1400, height: 900 }, PHONE = { width: 390, height: 800 };

function watch(page, weighed = false) {
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) report.console.push(message.text()); });
  page.on("pageerror", (error) => report.console.push(String(error)));
  page.on("dialog", async (dialog) => { report.dialogs += 1; await dialog.dismiss(); });
  page.on("request", (request) => { if (!request.url().startsWith(plan.url) && !request.url().startsWith("data:")) report.outside.push(request.url()); });
  page.on("response", async (response) => {
    if (weighed && !response.url().includes("/api/") && !response.url().includes("/metrics")) report.bytes += (await response.body().catch(() => "")).length;
  });
}

async function withKey(page, { url, key } = plan) {
  await page.goto(`${url}/`);
  await page.fill("#key", key);
  await page.click("#key-form button[type=submit]");
  await page.waitForSelector("#sign-in", { state: "hidden" });
}

/** Pictures for whoever looks at the work, at both widths. */
async function shoot(page, name) {
  for (const [size, viewport] of plan.shots ? [["desk", WIDE], ["phone", PHONE]] : []) {
    await page.setViewportSize(viewport);
    await page.screenshot({ path: `${plan.shots}/${name}-${size}.png`, fullPage: true });
  }
}

const work = {
  async status(page) {
    await page.waitForFunction(() => document.querySelectorAll("#status .chart svg").length === 4 && document.querySelectorAll("#status .figures dd").length === 8);
    await page.locator("#status .chart svg").first().focus();
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(() => document.querySelector("#status .when").textContent.includes(":"));
    await page.evaluate(() => document.activeElement.blur());
    await page.waitForSelector("#status table >> text=search provider");
    return (await page.innerText("#status")).replace(/\s+/g, " ");
  },
  async errors(page) {
    await page.waitForSelector("#errors table");
    return page.innerText("#errors table");
  },
  async try(page, look) {
    await page.check("#interface-chat", { force: true });
    await page.selectOption("#try aside select >> nth=1", "chat");
    await page.setInputFiles("#try .talk input[type=file]", plan.picture);
    await page.fill("#try .talk textarea", "What is the harbour tax?");
    await page.click("#try .talk button[type=submit]");
    await page.waitForSelector("#try .answer strong");
    await page.waitForSelector("#try .answer[aria-busy=false]");
    const chat = await page.innerHTML("#try .answer");
    await page.click("#try details.code summary");
    await page.waitForFunction(() => document.querySelector("#try details.code pre").textContent.includes("curl"));
    const curl = await page.textContent("#try details.code pre");
    await look?.("try-chat");
    await page.check("#interface-tools", { force: true });
    await page.check("#tool-websearch-extract", { force: true });
    await page.fill("#try form.tool textarea >> nth=0", plan.site);
    await page.click("#try form.tool button[type=submit]");
    await page.waitForSelector("#try .results");
    return { chat, curl, tool: await page.innerHTML("#try .answer") };
  },
  async ocr(page) {
    await page.setInputFiles("#ocr input[type=file]", plan.picture);
    await page.click("#ocr button[type=submit]");
    await page.waitForSelector("#ocr rect", { timeout: 60000 });
    await page.hover("#ocr .blocks li >> nth=1");
    const marked = await page.locator("#ocr rect.marked").count();
    await page.locator("#ocr rect >> nth=2").click();
    const focused = await page.evaluate(() => document.activeElement.id);
    return { marked, focused, boxes: await page.locator("#ocr rect").count(), text: await page.innerText("#ocr .blocks"), tables: await page.locator("#ocr .blocks table").count() };
  },
  async sanitize(page) {
    await page.fill("#sanitize textarea", "😀 mail jane.roe@corporation.com, key AKIAIOSFODNN7EXAMPLQ");
    await page.click("#sanitize button");
    await page.waitForSelector("#sanitize mark");
    return { state: await page.textContent("#sanitize .hint"), marks: await page.locator("#sanitize mark").allInnerTexts(), request: await page.innerText("#sanitize h3:text('In a request') + pre") };
  },
  async keys(page) {
    await page.waitForSelector("#keys table");
    await page.fill("#keys form input >> nth=0", "tide-agent");
    await page.check("#scope-chat");
    await page.click("#keys form button[type=submit]");
    const made = await page.innerText("#keys .secret");
    await page.waitForSelector("#keys table >> text=tide-agent");
    const revoke = page.locator("#keys tr", { hasText: "tide-agent" }).locator("button", { hasText: "Revoke" }).first();
    await revoke.click();
    await page.click("#keys button:text('Revoke for ever?')");
    await page.waitForSelector("#keys >> text=is revoked");
    await page.locator("#keys tr", { hasText: "in use here" }).locator("button:text('Edit')").click();
    return { made, list: await page.innerText("#keys table") };
  },
  async usage(page) {
    await page.waitForSelector("#usage table, #usage p:text('Nothing was used')");
    return page.innerText("#usage");
  },
  async configuration(page) {
    await page.waitForSelector("#configuration pre");
  },
  async logs(page) {
    await page.waitForSelector("#logs .link");
    await page.fill("#logs input[type=search]", "websearch-extract");
    await page.click("#logs .link >> nth=0");
    await page.waitForSelector("#logs .story");
    return page.innerText("#logs");
  },
};

/** Every tab does its job, by the keyboard too, and axe finds nothing. plan: {alone: {url, key}, site, picture, pictures?}. */
async function tabs() {
  const page = await browser.newPage({ viewport: { width: 1200, height: 860 }, colorScheme: "light" });
  watch(page, true);
  await withKey(page);
  for (const [name, act] of Object.entries(work)) {
    await page.click(`#tab-${name}`);
    report.tabs[name] = await act(page);
  }
  report.hacked = await page.evaluate(() => Boolean(window.hacked));

  // By the keyboard alone: from the key's field to the tabs, along them, into a panel.
  await page.focus("#tab-status");
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowRight");
  report.keyboard = await page.evaluate(() => [document.activeElement.id, document.querySelector("#status").hidden]);

  // A gateway without models of its own.
  const alone = await browser.newPage();
  await withKey(alone, plan.alone);
  await alone.click("#tab-sanitize");
  report.alone = await alone.innerText("#sanitize .hint:not(:empty)");

  // Without a key nothing but health is shown, and what is missing is said.
  const bare = await browser.newPage();
  await bare.goto(`${plan.url}/#usage`);
  await bare.fill("#key", "gw_wrong");
  await bare.click("#key-form button[type=submit]");
  await bare.waitForSelector("#key-state.error");
  report.bare = await bare.innerText("#key-state");
  report.bareTabs = await bare.locator("[role=tabpanel]:visible").count();
}

/** Every tab with something in it, on a desk and on a phone, light and dark; plan: as `tabs`, shots?: a folder. */
async function widths() {
  for (const [name, viewport] of [["desk", WIDE], ["phone", PHONE]]) for (const colorScheme of ["light", "dark"]) {
    // The checker's script may not run under the page's policy.
    const context = await browser.newContext({ viewport, colorScheme, bypassCSP: true }), page = await context.newPage();
    const tell = (tab, text) => report.axe.push(`${name} ${colorScheme} ${tab}: ${text}`);
    watch(page);
    await page.goto(`${plan.url}/`);
    await look("sign-in");
    await withKey(page);
    for (const [tab, act] of Object.entries(work)) {
      await page.click(`#tab-${tab}`);
      await act(page, look);
      await look(tab);
    }
    await context.close();

    async function look(tab) {
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run({ rules: { "target-size": { enabled: true } } }));
      for (const each of violations) tell(tab, `${each.id}: ${each.nodes.map((node) => node.target.join(" ")).slice(0, 3).join("; ")}`);
      const seen = await page.evaluate(() => ({
        wide: document.documentElement.scrollWidth > innerWidth,
        unnamed: [...document.querySelectorAll("input, select, textarea")].filter((each) => !each.labels?.length && !each.ariaLabel).map((each) => each.outerHTML.slice(0, 80)),
        cut: [...document.querySelectorAll(".scroll")].filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.ariaLabel ?? each.innerText.slice(0, 40)),
      }));
      if (seen.wide) tell(tab, "the page is wider than the window");
      for (const each of seen.unnamed) tell(tab, `no label: ${each}`);
      for (const each of seen.cut) tell(tab, `a table is wider than its place: ${each}`);
      if (plan.shots) await page.screenshot({ path: `${plan.shots}/${tab}-${name}-${colorScheme}.png`, fullPage: true });
    }
  }
}

/** What a console that is only looked at shows; plan: nothing more. */
async function quiet() {
  const page = await browser.newPage();
  watch(page);
  await withKey(page);
  await page.waitForSelector("#status table >> text=search provider");
  for (const tab of ["try", "errors", "sanitize", "keys", "usage", "logs", "configuration", "status"]) {
    await page.click(`#tab-${tab}`);
    await page.waitForSelector({ try: "#try option[value=SvcLLM]", keys: "#keys table", usage: "#usage p", logs: "#logs .hint", errors: "#errors p", sanitize: "#sanitize .hint", configuration: "#configuration pre", status: "#status svg" }[tab], { state: "attached" });
  }
  const asked = page.waitForResponse((each) => each.url().includes("/admin/history"), { timeout: 20000 });
  await asked;
  return { figures: await page.innerText("#status .figures"), logs: await page.textContent("#logs .hint") };
}

/** From a count of failures to the requests behind it. */
async function errors() {
  const page = await browser.newPage();
  watch(page);
  await withKey(page);
  await page.waitForSelector("#status .figures a");
  await page.click("#status .figures a");
  await page.waitForSelector("#errors table");
  const before = await page.innerText("#errors table tbody");
  await page.selectOption("#errors select", "24h");
  await page.locator("#errors tr", { hasText: "invalid_value" }).locator("a").click();
  await page.waitForFunction(() => document.querySelectorAll("#logs tbody tr").length === 3);
  const address = await page.evaluate(() => location.hash);
  await page.click("#logs .link >> nth=0");
  const story = await page.innerText("#logs .story");
  await page.click("#logs a:text('All requests')");
  await page.waitForFunction(() => document.querySelectorAll("#logs tbody tr").length > 3);
  return { before, address, story };
}

/** The newest chat request as a tree. */
async function tree() {
  const page = await browser.newPage();
  watch(page);
  await withKey(page);
  await page.click("#tab-logs");
  await page.locator("#logs tr", { hasText: "chat" }).locator(".link").first().click();
  await page.waitForSelector("#logs .tree");
  await shoot(page, "tree");
  return { lines: (await page.locator("#logs .tree .step").allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim()), depth: await page.locator("#logs .tree ul ul").count() };
}

/** A conversation: a picture, an answer that cites, the same asked again, and a further question; plan: {picture}. */
async function talk() {
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] }), page = await context.newPage();
  const seen = {}, answered = (text) => page.waitForSelector(`#try .answer[aria-busy=false]:has-text("${text}")`);
  watch(page);
  await withKey(page);
  await page.click("#tab-try");
  await page.check("#with-search");
  await page.setInputFiles("#try input[type=file]", [plan.picture, plan.picture]);
  await page.click("#try .thumbs button >> nth=1");
  await page.fill("#try .talk textarea", "Where is this?");
  await page.click("#try details.code summary");
  await page.waitForFunction(() => document.querySelector("#try details.code pre").textContent.includes("curl"));
  seen.code = await page.textContent("#try details.code pre");
  await page.click("#try .talk button[type=submit]");
  await answered("Paris");
  seen.cited = await page.locator("#try .answer .markdown a").evaluateAll((all) => all.map((each) => [each.textContent, each.href]));
  await page.click("#try .turns button:text('Copy')");
  seen.copied = await page.evaluate(() => navigator.clipboard.readText());
  await shoot(page, "talk");
  await page.click("#try .turns button:text('Ask again')");
  await answered("Lyon");
  seen.turns = await page.locator("#try .turns li").count();
  seen.pictures = await page.locator("#try .turns .user img").count();
  await page.uncheck("#with-search");
  await page.selectOption("#try aside select >> nth=1", "chat");
  await page.fill("#try .talk textarea", "And then?");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll("#try .answer[aria-busy=false]").length === 2);
  return seen;
}

/** The configuration in force. */
async function configuration() {
  const page = await browser.newPage();
  watch(page);
  await withKey(page);
  await page.click("#tab-configuration");
  const text = await page.innerText("#configuration pre");
  await page.fill("#configuration input[type=search]", "BASE_url");
  return { text, found: await page.innerText("#configuration pre"), page: await page.innerText("#configuration") };
}

/** The pictures of the documentation; plan: {picture, pictures}. */
async function pictures() {
  const page = await browser.newPage({ viewport: { width: 1200, height: 760 }, colorScheme: "light" });
  const keep = (name) => page.screenshot({ path: `${plan.pictures}/${name}.png` });
  watch(page);
  await withKey(page);
  await page.selectOption("#status select", "1h");
  await page.waitForFunction(() => document.querySelectorAll("#status .chart rect").length > 60);
  await page.waitForSelector("#status table >> text=search provider");
  await keep("status");
  await page.click("#tab-try");
  await page.check("#with-search");
  await page.fill("#try .talk textarea", "I am jane.roe@corporation.com. What is the capital of France?");
  await page.click("#try .talk button[type=submit]");
  await page.waitForSelector("#try .answer[aria-busy=false] h3");
  await page.click("#try details.code summary");
  await page.waitForFunction(() => document.querySelector("#try details.code pre").textContent.includes("curl"));
  await page.evaluate(() => { document.activeElement.blur(); scrollTo(0, 0); });
  await keep("try-chat");
  await page.click("#tab-errors");
  await page.waitForSelector("#errors table");
  await keep("errors");
  await page.click("#tab-logs");
  await page.locator("#logs tr", { hasText: "SvcLLM" }).locator(".link").first().click();
  await page.waitForSelector("#logs .tree");
  await keep("logs");
  const headers = { Authorization: `Bearer ${plan.key}` }; // use is written every five seconds
  while (!(await (await page.request.get(`${plan.url}/api/admin/usage`, { headers })).json()).rows.length);
  await page.click("#tab-keys");
  await page.waitForSelector("#keys table");
  await page.fill("#keys form input >> nth=0", "agent-1");
  await page.check("#scope-chat");
  await page.click("#keys form button[type=submit]");
  await page.waitForSelector("#keys table >> text=agent-1");
  await keep("keys");
  await page.click("#tab-ocr");
  await work.ocr(page);
  await keep("ocr");
  return {};
}

/** A key is changed; plan: {name}. */
async function edit() {
  const page = await browser.newPage(), sent = [];
  watch(page);
  page.on("request", (request) => { if (request.method() === "PATCH") sent.push(request.postDataJSON()); });
  await withKey(page);
  await page.click("#tab-keys");
  const row = page.locator("#keys tr", { hasText: plan.name });
  await row.locator(".meter").first().waitFor();
  const bars = await row.locator(".meter").allInnerTexts();
  await row.locator("button:text('Edit')").click();
  const values = await page.evaluate(() => ({ focus: document.activeElement.value, scopes: [...document.querySelectorAll("#keys form fieldset :checked")].map((each) => each.value), minute: document.querySelector("#keys [name=per_minute]").value }));
  await page.fill("#keys [name=per_minute]", "");
  await page.fill("#keys [name=tokens_per_day]", "5000");
  await page.fill("#keys [name=name]", "night-agent");
  await page.check("#scope-ocr");
  await shoot(page, "keys-edit");
  await page.click("#keys button:text('Save')");
  await page.waitForSelector("#keys table >> text=night-agent");
  await page.locator("#keys tr", { hasText: "night-agent" }).locator("button:text('Edit')").click();
  await page.check("#keys [name=forever]");
  await page.click("#keys button:text('Save')");
  await page.waitForSelector("#keys >> text=is changed");
  await page.waitForFunction(() => document.querySelector("#keys div > h2").textContent === "A new key");
  const changed = page.locator("#keys tr", { hasText: "night-agent" }).filter({ hasText: "never" });  // once the table is read anew
  return { bars, values, sent, row: await changed.innerText() };
}

const parts = { pictures, edit, errors, tree, talk, configuration, tabs, widths, quiet };
Object.assign(report, await parts[plan.part ?? "tabs"]());
await browser.close();
console.log(JSON.stringify(report));
