// Health of every part, and live figures from the metrics, every two seconds while the tab is open.

import { chart, failure, fill, h, number, table } from "./dom.js";
import { getJson, getText, key, rpc } from "./api.js";

const EVERY_MS = 2000, KEPT = 60;

/** The samples of Prometheus' text format: `[{name, labels, value}]`. */
export function samples(text) {
  const out = [];
  for (const line of text.split("\n")) {
    const match = /^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? ([^ ]+)/i.exec(line);
    if (!match || line.startsWith("#")) continue;
    const labels = Object.fromEntries([...(match[2] ?? "").matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map((each) => [each[1], each[2]]));
    out.push({ name: match[1], labels, value: Number(match[3]) });
  }
  return out;
}

const sum = (all, name, holds = () => true) =>
  all.reduce((total, each) => (each.name === name && holds(each.labels) ? total + each.value : total), 0);

/** The upper bound of the bucket that holds the share `q` of what was observed between two samples, in ms. */
function quantile(before, now, name, q) {
  const counts = new Map();
  for (const [all, sign] of [[now, 1], [before, -1]]) {
    for (const each of all) {
      if (each.name === `${name}_bucket` && each.labels.endpoint !== "admin") counts.set(each.labels.le, (counts.get(each.labels.le) ?? 0) + sign * each.value);
    }
  }
  const bounds = [...counts].map(([le, count]) => [le === "+Inf" ? Infinity : Number(le), count]).sort((a, b) => a[0] - b[0]);
  const total = bounds.at(-1)?.[1] ?? 0;
  if (!total) return 0;
  const found = bounds.find((each) => each[1] >= q * total)[0];
  return (found === Infinity ? bounds.at(-2)[0] : found) * 1000;
}

const SERIES = [
  ["Requests a second", "", (now, then, s) => (sum(now, "gateway_requests_total", (l) => l.endpoint !== "admin") - sum(then, "gateway_requests_total", (l) => l.endpoint !== "admin")) / s],
  ["In flight", "", (now) => sum(now, "gateway_in_flight")],
  ["Median answer", " ms", (now, then) => quantile(then, now, "gateway_request_duration_seconds", 0.5)],
  ["95th percentile", " ms", (now, then) => quantile(then, now, "gateway_request_duration_seconds", 0.95)],
  ["Tokens a second", "", (now, then, s) => (sum(now, "gateway_tokens_total") - sum(then, "gateway_tokens_total")) / s],
  ["Refused a minute", "", (now, then, s) => ((sum(now, "gateway_rejected_total") - sum(then, "gateway_rejected_total")) / s) * 60],
  ["CPU", " %", (now, then, s) => Math.max(0, ((sum(now, "gateway_process_cpu_seconds") - sum(then, "gateway_process_cpu_seconds")) / s) * 100)],
  ["Memory", " MB", (now) => sum(now, "gateway_process_resident_bytes") / 1e6],
];

export function show(panel) {
  const health = h("div", { "aria-live": "polite" }), figures = h("div", { class: "charts" }), parts = h("div");
  fill(panel, h("h2", {}, "Health"), health, h("h2", {}, "Live figures"), figures, h("h2", {}, "Parts"), parts);
  const kept = SERIES.map(() => []);
  let before = null, beforeS = 0, timer = 0, heading = "";

  async function look() {
    try {
      const ready = await (await fetch("/readyz")).json();
      const all = samples(await getText("/metrics")), nowS = performance.now() / 1000;
      if (before) SERIES.forEach(([, , value], index) => { kept[index] = [...kept[index], value(all, before, nowS - beforeS)].slice(-KEPT); });
      [before, beforeS] = [all, nowS];
      const notes = ready.notes ?? [], text = JSON.stringify(ready);
      if (text !== heading) {
        heading = text;
        fill(health, h("p", { class: `badge ${ready.status}` }, ready.status),
          ready.waiting_for ? h("p", {}, `waiting for ${ready.waiting_for.join(", ")}`) : null,
          notes.map((note) => h("p", { class: "error" }, note)));
      }
      fill(figures, SERIES.map(([label, unit], index) => chart(label, kept[index], unit)));
      fill(parts, partsOf(all));
    } catch (error) {
      heading = "";
      fill(health, failure(error));
    }
  }

  async function tools() {
    if (!key()) { fill(more, h("p", { class: "hint" }, "With a key that has the scope web-search, the state of search, index and guardrail is shown here.")); return; }
    try {
      const result = await rpc("tools/call", { name: "websearch-search_status", arguments: {} });
      const { data } = JSON.parse(result.content[0].text);
      const models = (await getJson("/api/v1/models")).data;
      fill(more,
        table("Web tools", ["Part", "State", "More"], [
          ["search provider", state(data.search_provider.healthy), `${data.search_provider.name}${data.search_provider.error ? `: ${data.search_provider.error}` : ""}`],
          ["index", state(!data.index.error), `${number(data.index.pages)} pages, ${number(data.index.bytes / 1e6)} MB${data.index.error ? `: ${data.index.error}` : ""}`],
          ["guardrail", data.guardrail.status, data.guardrail.enabled ? data.guardrail.model : "off"],
          ["sanitizing", data.sanitization.requests || data.sanitization.responses ? "on" : "off", `requests ${data.sanitization.requests ? "yes" : "no"}, answers ${data.sanitization.responses ? "yes" : "no"}`],
        ]),
        table("Models", ["Name", "Kind", "Context"], models.map((each) => [each.id, each.kind, each.context_length ? number(each.context_length) : "-"]), [2]));
    } catch (error) {
      fill(more, failure(error));
    }
  }

  const more = h("div");
  panel.append(more);
  return {
    enter() { look(); tools(); clearInterval(timer); timer = setInterval(look, EVERY_MS); },
    leave() { clearInterval(timer); },
  };
}

const state = (isGood) => h("span", { class: isGood ? "good" : "bad" }, isGood ? "up" : "down");

function partsOf(all) {
  const upstreams = all.filter((each) => each.name === "gateway_upstream_open").map((each) => [`upstream ${each.labels.upstream}`, state(!each.value), `model ${each.labels.model}${each.value ? ": calls are kept away for a moment, it failed too often" : ""}`]);
  const stores = all.filter((each) => each.name === "gateway_store_up").map((each) => [`store ${each.labels.store}`, state(each.value), ""]);
  const started = sum(all, "gateway_process_start_time_seconds");
  return table("Upstreams, stores and workers", ["Part", "State", "More"], [
    ...upstreams, ...stores,
    ["workers", number(sum(all, "gateway_workers")), `${number(sum(all, "gateway_worker_starts_total"))} started, the oldest ${started ? new Date(started * 1000).toLocaleString() : "-"}`],
    ["event loop", `${number(quantile([], all, "gateway_loop_lag_seconds", 0.99))} ms late`, "99 of 100 timers; above 100 ms something blocks"],
    ["open files", number(sum(all, "gateway_process_open_files")), `of ${number(sum(all, "gateway_process_max_files"))}`],
  ]);
}
