// Health of every part, eight figures, and what happened in the last minutes and hours, from a ring that the server keeps.

import { failure, fill, h, moment, number, select, table } from "./dom.js";
import { getJson, getText } from "./api.js";
import { timeChart } from "./charts.js";

const EVERY_MS = 5000;
const CAUSES = [["ok", "answered", "good-mark"], ["invalid", "wrong request", "soft-mark"], ["refused", "key refused", "warn-mark"], ["limited", "over a limit", "warn-mark two"],
  ["upstream", "upstream failed", "bad-mark"], ["failed", "gateway failed", "bad-mark two"], ["left", "client left", "soft-mark two"]];

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

const sum = (all, name) => all.reduce((total, each) => (each.name === name ? total + each.value : total), 0);

export function show(panel) {
  const range = select(["5m", "1h", "24h", "7d"], "5m");
  range.id = "range";
  const notes = h("div", { "aria-live": "polite" }), figures = h("dl", { class: "figures" }), charts = h("div", { class: "charts" }), parts = h("div", { class: "parts" });
  fill(panel, notes,
    h("div", { class: "bar-line" }, h("h2", {}, "Now"), h("p", {}, h("label", { for: "range" }, "Shown: the last "), range)),
    figures, charts, h("h2", {}, "Parts"), parts);
  let timer = 0, heading = "";

  async function look() {
    try {
      const ready = await (await fetch("/readyz")).json(), text = JSON.stringify(ready.notes ?? ready.waiting_for ?? []);
      if (text !== heading) {
        heading = text;
        fill(notes, (ready.notes ?? []).map((note) => h("p", { class: "error" }, note)), ready.waiting_for ? h("p", { class: "hint" }, `waiting for ${ready.waiting_for.join(", ")}`) : null);
      }
      const { points, step_s: stepS } = await getJson(`/api/admin/history?range=${range.value}`), { upstreams } = await getJson("/api/admin/upstreams");
      draw(points, stepS, samples(await getText("/metrics")), upstreams);
    } catch (error) {
      if (error.status === 403) clearInterval(timer);
      fill(charts, error.status === 403 ? h("p", { class: "hint" }, "Figures need a key with the scope admin: ", h("code", {}, "gateway keys create --name console --scope admin …")) : failure(error));
    }
  }

  function draw(points, stepS, metrics, upstreams) {
    const total = (name) => points.reduce((all, point) => all + (point[name] ?? 0), 0);
    const requests = total("requests"), seconds = Math.max(1, points.length * stepS), last = points.findLast((point) => point.p50_ms !== null) ?? {};
    const wrong = total("upstream") + total("failed"), now = points.at(-2) ?? points.at(-1) ?? {};
    const figure = (name, value, unit, note = null) => h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", {}, value), unit ? h("span", {}, `\u00a0${unit}`) : null, note ? h("small", {}, note) : null));
    fill(figures,
      figure("Requests", number(requests), "", `${number(requests / seconds * 60)} a minute`),
      figure("Failed", number(wrong), "", h("a", { href: `#errors?range=${range.value === "5m" ? "15m" : range.value}` }, requests ? `${number(wrong / requests * 100)} %; errors by code` : "errors by code")),
      figure("Median answer", last.p50_ms === undefined ? "–" : number(last.p50_ms), last.p50_ms === undefined ? "" : "ms"),
      figure("95 of 100 within", last.p95_ms === undefined ? "–" : number(last.p95_ms), last.p95_ms === undefined ? "" : "ms"),
      figure("Tokens", number(total("input_tokens") + total("output_tokens")), "", `${number(total("output_tokens"))} written`),
      figure("Open now", number(sum(metrics, "gateway_in_flight")), "", `${number(sum(metrics, "gateway_workers"))} worker${sum(metrics, "gateway_workers") === 1 ? "" : "s"}`),
      figure("CPU", number(now.cpu_percent ?? 0), "%", "of one core"),
      figure("Memory", number(Math.round(sum(metrics, "gateway_process_resident_bytes") / 1e6)), "MB", "serving processes"));
    if (panel.contains(document.activeElement) && document.activeElement.tagName === "svg") return; // somebody reads values
    fill(charts,
      timeChart("Requests by how they ended", points, CAUSES.map(([name, label, kind]) => ({ name: label, kind, value: (point) => point[name] })).filter((each, index) => index === 0 || total(CAUSES[index][0])), { stepS, stacked: true }),
      timeChart("Time of an answer", points, [{ name: "median", kind: "line-one", value: (point) => point.p50_ms }, { name: "95 of 100", kind: "line-two", value: (point) => point.p95_ms }], { stepS, unit: " ms" }),
      timeChart("Tokens", points, [{ name: "read", kind: "soft-mark", value: (point) => point.input_tokens }, { name: "written", kind: "good-mark", value: (point) => point.output_tokens }], { stepS, stacked: true }),
      timeChart("CPU of the serving processes", points, [{ name: "CPU", kind: "line-one", value: (point) => point.cpu_percent }], { stepS, unit: " %" }));
    fill(parts, upstreamsOf(upstreams), partsOf(metrics), more);
  }

  const more = h("div");
  async function tools() {
    try {
      const data = await getJson("/api/admin/status");
      const models = (await getJson("/api/v1/models")).data;
      fill(more,
        table("Web tools", ["Part", "State", "More"], [
          ["search provider", state(data.search_provider.healthy), `${data.search_provider.name}${data.search_provider.error ? `: ${data.search_provider.error}` : ""}`],
          ["index", state(!data.index.error), `${number(data.index.pages)} pages, ${number(data.index.bytes / 1e6)} MB${data.index.error ? `: ${data.index.error}` : ""}`],
          ["guardrail", data.guardrail.status, data.guardrail.enabled ? data.guardrail.model : "off"],
          ["sanitizing", data.sanitization.requests || data.sanitization.responses ? "on" : "off", `requests ${data.sanitization.requests ? "yes" : "no"}, answers ${data.sanitization.responses ? "yes" : "no"}`],
        ]),
        table("Models", ["Name", "Kind", "Context"], models.map((each) => [each.id, each.kind, each.context_length ? number(each.context_length) : "–"]), [2]));
    } catch (error) {
      fill(more, error.status === 403 ? h("p", { class: "hint" }, "The state of the web tools needs a key with the scope admin.") : failure(error));
    }
  }

  range.addEventListener("change", look);
  return {
    enter() { look(); tools(); clearInterval(timer); timer = setInterval(look, EVERY_MS); },
    leave() { clearInterval(timer); },
  };
}

const state = (isGood) => h("span", { class: isGood ? "good" : "bad" }, isGood ? "up" : "down");

const when = (seconds) => (seconds ? moment(seconds) : "never");

function upstreamsOf(rows) {
  return table("Upstreams", ["Model", "Upstream", "State", "Last answer", "Last failure", "Calls", "Failed", "Median ms", "Weight"], rows.map((each) => {
    const failed = each.last_failure > each.last_success, words = failed ? "failed last" : each.last_success ? "answers" : "not called yet";
    const breaker = each.breaker === "closed" ? "" : each.breaker === "open" ? ", not called for a moment" : ", tried again";
    return [each.model, each.upstream, h("span", { class: failed ? "bad" : each.last_success ? "good" : null }, words + breaker), when(each.last_success),
      [when(each.last_failure), each.said ? h("small", {}, ` ${each.said}`) : null], number(each.requests), number(each.failures), number(each.p50_ms ?? NaN), number(each.weight)];
  }), [5, 6, 7, 8]);
}

function partsOf(all) {
  const stores = all.filter((each) => each.name === "gateway_store_up").map((each) => [`store ${each.labels.store}`, state(each.value), ""]);
  const started = sum(all, "gateway_process_start_time_seconds");
  return table("Stores and workers", ["Part", "State", "More"], [
    ...stores,
    ["workers", number(sum(all, "gateway_workers")), `${number(sum(all, "gateway_worker_starts_total"))} started, the oldest ${started ? moment(started) : "–"}`],
    ["open files", number(sum(all, "gateway_process_open_files")), `of ${number(sum(all, "gateway_process_max_files"))}`],
  ]);
}
