// The last 200 requests of all workers, and the whole record of one. Records hold names and figures, no prompt and no
// answer. Needs a key with the scope admin.

import { failure, field, fill, h, select, table } from "./dom.js";
import { getJson } from "./api.js";

const EVERY_MS = 3000;
const COLUMNS = [["Time", (r) => new Date(r.ts * 1000).toLocaleTimeString()], ["Request", null], ["Key", (r) => r.key || "-"], ["Endpoint", (r) => r.tool ?? r.endpoint],
  ["Model", (r) => r.model ?? "-"], ["Status", (r) => String(r.status)], ["Outcome", (r) => r.outcome], ["Time, ms", (r) => String(r.total_ms)]];

export function show(panel) {
  const filter = h("input", { type: "search", placeholder: "id, key, endpoint, model, status …" });
  const kind = select(["all", "ok", "refused or failed"], "all");
  const follow = h("input", { type: "checkbox", id: "follow", checked: true });
  const out = h("div"), story = h("div", { "aria-live": "polite" });
  fill(panel, h("h2", {}, "The last requests"), h("form", { class: "row" }, field("Filter", filter), field("Outcome", kind), h("p", {}, h("label", { for: "follow" }, follow, "follow"))), story, out);
  let rows = [], timer = 0, wanted = "";
  panel.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  for (const input of [filter, kind]) input.addEventListener("input", draw);

  function draw() {
    const word = filter.value.trim().toLowerCase();
    const shown = rows.filter((row) => (!word || JSON.stringify(row).toLowerCase().includes(word)) && (kind.value === "all" || (kind.value === "ok") === (row.outcome === "ok")));
    const open = (row) => {
      const button = h("button", { type: "button", class: "link" }, row.request_id);
      button.addEventListener("click", () => { wanted = row.request_id; tell(); });
      return button;
    };
    fill(out, shown.length ? table(`${shown.length} of ${rows.length}`, COLUMNS.map(([name]) => name), shown.map((row) => COLUMNS.map(([, value]) => (value ? value(row) : open(row)))), [7])
      : h("p", {}, rows.length ? "No request fits the filter." : "No request yet."));
  }
  function tell() {
    const row = rows.find((each) => each.request_id === wanted);
    if (!row) { fill(story); return; }
    const own = row.total_ms - (row.upstream_ms ?? 0);
    fill(story, h("div", { class: "story" }, h("h3", {}, `Request ${row.request_id}`),
      h("p", {}, `${row.method} ${row.endpoint} at ${new Date(row.ts * 1000).toLocaleString()}: status ${row.status}, ${row.outcome}, after ${row.total_ms} ms, of which ${own.toFixed(2)} ms in the gateway.`),
      row.status === 499 ? h("p", {}, "The client left before its answer was whole; calls to upstreams were ended.") : null,
      h("dl", {}, Object.entries(row).map(([name, value]) => [h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, typeof value === "object" ? JSON.stringify(value) : String(value))])),
      h("p", { class: "hint" }, "The journal has the same line, and what the gateway said meanwhile, under this id: journalctl -u gateway | grep the id")));
  }
  async function look(id) {
    if (id) wanted = id;
    try {
      ({ requests: rows } = await getJson("/api/admin/requests"));
      draw();
      if (id) tell();
    } catch (error) {
      fill(out, failure(error));
    }
  }
  return {
    enter(id) { look(id); clearInterval(timer); timer = setInterval(() => { if (follow.checked && !panel.contains(document.activeElement?.closest(".scroll"))) look(); }, EVERY_MS); },
    leave() { clearInterval(timer); },
  };
}
