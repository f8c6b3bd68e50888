// The page's frame: tabs, the key, and the part that each tab shows. Parts are loaded when they are first opened.

import { getText, key, setKey } from "./api.js";

const PARTS = {
  status: () => import("./status.js"),
  try: () => import("./try.js"),
  ocr: () => import("./ocr.js"),
  sanitize: () => import("./sanitize.js"),
  usage: () => import("./usage.js"),
  logs: () => import("./logs.js"),
};
const shown = new Map();
let current = "";

const tabs = [...document.querySelectorAll("[role=tab]")];

async function open(name, focus = false) {
  if (!(name in PARTS)) name = "status";
  if (current !== name) shown.get(current)?.leave?.();
  current = name;
  for (const tab of tabs) {
    const isOpen = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(isOpen));
    tab.tabIndex = isOpen ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !isOpen;
    if (isOpen && focus) tab.focus();
  }
  if (location.hash.slice(1).split("/")[0] !== name) history.replaceState(null, "", `#${name}`);
  if (!shown.has(name)) {
    shown.set(name, {});
    const part = await PARTS[name]();
    shown.set(name, part.show(document.getElementById(name)) ?? {});
  }
  if (current === name) shown.get(name).enter?.(location.hash.slice(1).split("/")[1] ?? "");
}

for (const [index, tab] of tabs.entries()) {
  tab.addEventListener("click", () => open(tab.id.slice(4)));
  tab.addEventListener("keydown", (event) => {
    const to = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    open(tabs[(to + tabs.length) % tabs.length].id.slice(4), true);
  });
}
addEventListener("hashchange", () => open(location.hash.slice(1).split("/")[0]));

const input = document.getElementById("key"), state = document.getElementById("key-state"), forget = document.getElementById("forget");

function showKey() {
  const held = key();
  input.value = "";
  input.placeholder = held ? `${held.slice(0, 8)}…` : "gw_…";
  forget.hidden = !held;
  state.textContent = held ? "in use, kept in this tab alone" : "kept in this tab alone";
}

document.getElementById("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (input.value.trim()) setKey(input.value.trim());
  showKey();
  shown.get(current)?.enter?.("");
});
forget.addEventListener("click", () => { setKey(""); showKey(); });

showKey();
open(location.hash.slice(1).split("/")[0]);
getText("/metrics").then((text) => {
  document.getElementById("version").textContent = /gateway_build_info\{[^}]*version="([^"]+)"/.exec(text)?.[1] ?? "";
}).catch(() => {});
