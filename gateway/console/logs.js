// The last 200 requests of all workers; a row opens in place. Records hold names and figures, no prompt and no answer.
// The filters stand in the address. Needs a key with the scope admin.

import { failure, field, fill, h, moment, number, select, share, table } from "./dom.js";
import { getJson } from "./api.js";

const EVERY_MS = 3000;
const COLUMNS = ["Time", "Key", "Endpoint", "Model", "Status", "Outcome", "ms", "Tokens in", "out"];
const NUMERIC = [6, 7, 8];

export function show(panel) {
  const filter = h("input", { type: "search", placeholder: "id, key, endpoint, model, status …" });
  const kind = select(["all", "ok", "not ok"], "all");
  const follow = h("input", { type: "checkbox", id: "follow", checked: true });
  const count = h("p", { class: "hint", "aria-live": "polite" }), out = h("div");
  const form = h("form", { class: "row" }, field("Filter", filter), field("Outcome", kind),
    h("p", {}, h("label", { for: "follow" }, follow, "follow")));
  fill(panel, h("h2", {}, "The last requests"), form, count, out);
  let rows = [], timer = 0, wanted = "", names = new Map(), behind = null;
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const input of [filter, kind]) input.addEventListener("input", () => { keep(); draw(); });

  function keep() {
    const parameters = new URLSearchParams(behind ?? {});
    if (filter.value.trim()) parameters.set("word", filter.value.trim());
    if (kind.value !== "all") parameters.set("outcome", kind.value);
    if (wanted) parameters.set("id", wanted);
    history.replaceState(null, "", `#logs${parameters.size ? `?${parameters}` : ""}`);
  }

  function draw() {
    const word = filter.value.trim().toLowerCase();
    const shown = rows.filter((row) => (!word || JSON.stringify(row).toLowerCase().includes(word) || (names.get(row.key) ?? "").toLowerCase().includes(word))
      && (kind.value === "all" || (kind.value === "ok") === (row.outcome === "ok")));
    fill(count, rows.length ? `${shown.length} of ${rows.length} requests` : "No request yet.", behind ? [` with ${behind.code} of ${behind.endpoint} in the last ${behind.range}, the newest 50. `, h("a", { href: "#logs?all" }, "All requests")] : null);
    fill(out, rows.length ? table("", COLUMNS, shown.flatMap((row) => [line(row), ...(row.request_id === wanted ? [h("tr", { class: "open", role: "row" }, h("td", { colspan: COLUMNS.length, role: "cell" }, story(row)))] : [])]), NUMERIC) : null);
  }

  function line(row) {
    const isOpen = row.request_id === wanted;
    const button = h("button", { type: "button", class: "link", "aria-expanded": String(isOpen), title: row.request_id }, moment(row.ts).slice(11));
    button.addEventListener("click", () => { wanted = isOpen ? "" : row.request_id; keep(); draw(); });
    return [button, row.name ?? names.get(row.key) ?? (row.key || "–"), row.tool ?? row.endpoint, row.model ?? "–", String(row.status), h("span", { class: row.outcome === "ok" ? "good" : "bad" }, row.outcome),
      number(row.total_ms), row.input_tokens ? number(row.input_tokens) : "–", row.output_tokens ? number(row.output_tokens) : "–"];
  }

  function story(row) {
    return h("div", { class: "story" }, h("h3", {}, `Request ${row.request_id}`), h("p", {}, moment(row.ts)),
      row.status === 499 ? h("p", {}, "The client left before its answer was whole; calls to upstreams were ended.") : null,
      tree(row), h("details", {}, h("summary", {}, "All fields"), h("dl", {}, Object.entries(row).map(([name, value]) => [h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, typeof value === "object" ? JSON.stringify(value) : String(value))]))),
      h("p", { class: "hint" }, "The journal has the same line: journalctl -u gateway | grep ", h("code", {}, row.request_id)));
  }

  async function look() {
    try {
      const [{ requests }, keys] = await Promise.all([getJson(`/api/admin/requests${behind ? `?${new URLSearchParams(behind)}` : ""}`), names.size ? null : getJson("/api/admin/keys")]);
      rows = requests;
      if (keys) names = new Map(keys.keys.map((each) => [each.id, each.name]));
      draw();
    } catch (error) {
      if (error.status === 403) clearInterval(timer);
      fill(count, failure(error));
    }
  }
  return {
    enter(parameters) {
      if (parameters?.size) {
        filter.value = parameters.get("word") ?? "";
        kind.value = parameters.get("outcome") ?? "all";
        wanted = parameters.get("id") ?? "";
        behind = parameters.has("code") ? Object.fromEntries(["range", "endpoint", "code"].map((name) => [name, parameters.get(name)])) : null;
      } else behind = null;
      look();
      clearInterval(timer);
      timer = setInterval(() => { if (follow.checked && !out.contains(document.activeElement)) look(); }, EVERY_MS);
    },
    leave() { clearInterval(timer); },
  };
}

/** What a request did, one thing after the other: masks, then calls of upstreams and tools, in rounds where a model called tools. */
function tree(row) {
  const step = (name, outcome, ms) => h("span", { class: "step" }, h("span", {}, name), " ", outcome ? h("span", { class: ["ok", "completed"].includes(outcome) ? "good" : "bad" }, outcome) : null, " ",
    ms === undefined ? null : h("span", { class: "ms" }, `${number(ms)} ms`), ms === undefined ? null : share(ms / Math.max(row.total_ms, 1), "soft-mark"));
  const told = (each) => (each.tool ? step(each.tool, each.status, each.ms) : step(`${each.model} at ${each.upstream}`, each.code ?? "ok", each.ms));
  const root = h("ul"), steps = row.steps ?? (row.model ? [{ model: row.model, upstream: row.upstream, code: row.attempts && row.outcome === "ok" ? undefined : row.code, ms: row.upstream_ms }] : row.tool ? [{ tool: row.tool, status: row.outcome, ms: row.total_ms }] : []);
  const masks = Object.entries(row.findings ?? {}).map(([kind, count]) => `${kind} ${count}`);
  if (masks.length) root.append(h("li", {}, step(`masked ${masks.join(", ")}`)));
  let into = root;
  for (const each of steps) {
    if (each.round) {
      into = h("ul");
      root.append(h("li", {}, step(`round ${each.round}`), into));
    } else into.append(h("li", {}, told(each)));
  }
  const outside = steps.reduce((total, each) => total + (each.ms ?? 0), 0);
  if (!row.tool) root.append(h("li", {}, step("the gateway itself", "", Math.max(0, row.total_ms - outside))));
  return h("ul", { class: "tree" }, h("li", {}, step(`${row.method} ${row.endpoint} ${row.status}`, row.outcome === "ok" ? "ok" : row.code ?? row.outcome, row.total_ms), root));
}
