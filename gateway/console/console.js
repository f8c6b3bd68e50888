// The page's frame: the key, the tabs, and the part that each tab shows. Parts are loaded when they are first opened.
// The address says what is shown: #logs?word=failed.

import { getJson, getText, key, setKey } from "./api.js";

const PARTS = {
  status: () => import("./status.js"),
  errors: () => import("./errors.js"),
  try: () => import("./try.js"),
  ocr: () => import("./ocr.js"),
  sanitize: () => import("./sanitize.js"),
  keys: () => import("./keys.js"),
  usage: () => import("./usage.js"),
  logs: () => import("./logs.js"),
  configuration: () => import("./configuration.js"),
};
const shown = new Map();
let current = "";

const tabs = [...document.querySelectorAll("[role=tab]")];
const byId = (id) => document.getElementById(id);

/** What the address names: `[part, parameters]`. */
function place() {
  const [name, query = ""] = location.hash.slice(1).split("?");
  return [name in PARTS ? name : "status", new URLSearchParams(query)];
}

async function open(name, parameters = new URLSearchParams(), focus = false) {
  if (current !== name) shown.get(current)?.leave?.();
  current = name;
  for (const tab of tabs) {
    const isOpen = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(isOpen));
    tab.tabIndex = isOpen ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !isOpen;
    if (isOpen && focus) tab.focus();
  }
  if (place()[0] !== name) history.replaceState(null, "", `#${name}`);
  if (!shown.has(name)) {
    shown.set(name, {});
    const part = await PARTS[name]();
    shown.set(name, part.show(byId(name)) ?? {});
  }
  if (current === name) shown.get(name).enter?.(parameters);
}

for (const [index, tab] of tabs.entries()) {
  tab.addEventListener("click", () => open(tab.id.slice(4)));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    open(tabs[(to + tabs.length) % tabs.length].id.slice(4), undefined, true);
  });
}
addEventListener("hashchange", () => { if (key()) open(...place()); });

/** Show the console, or the form for a key. */
function frame() {
  const isIn = Boolean(key());
  document.body.classList.toggle("signed-out", !isIn);
  byId("sign-in").hidden = isIn;
  byId("key-shown").textContent = isIn ? `${key().slice(0, 11)}…` : "";
  if (isIn) open(...place());
  else {
    shown.get(current)?.leave?.();
    for (const tab of tabs) byId(tab.getAttribute("aria-controls")).hidden = true;
    byId("key").focus();
  }
}

byId("key-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const state = byId("key-state");
  setKey(byId("key").value.trim());
  state.textContent = "asking the gateway …";
  try {
    await getJson("/api/v1/models"); // takes any valid key
    byId("key").value = "";
    state.textContent = "";
    frame();
  } catch (error) {
    setKey("");
    state.className = "error";
    state.textContent = error.status === 401 ? "This key is not valid here. It may be revoked, expired or cut off; it begins with gw_." : error.message;
  }
});
byId("forget").addEventListener("click", () => { setKey(""); location.hash = ""; location.reload(); });

async function health() {
  const badge = byId("health");
  try {
    const ready = await (await fetch("/readyz")).json();
    badge.textContent = ready.notes ? `${ready.status}, needs you` : ready.status;
    badge.className = `badge ${ready.notes ? "starting" : ready.status}`;
    badge.title = (ready.notes ?? ready.waiting_for ?? []).join("\n");
  } catch {
    badge.textContent = "no answer";
    badge.className = "badge bad";
  }
}
health();
setInterval(health, 10_000);
frame();
getText("/metrics").then((text) => {
  byId("version").textContent = /gateway_build_info\{[^}]*version="([^"]+)"/.exec(text)?.[1] ?? "";
}).catch(() => {});
