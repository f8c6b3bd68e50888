// Failures by endpoint, status and code in a range of time; each count leads to the requests behind it. Needs a key with
// the scope admin.

import { failure, field, fill, h, number, select, share, table } from "./dom.js";
import { getJson } from "./api.js";

const SAID = { client_gone: "the client left before its answer was whole", truncated: "the stream broke off", cancelled: "the caller ended it" };

export function show(panel) {
  const range = select(["15m", "1h", "24h", "7d"], "1h"), out = h("div", { "aria-live": "polite" });
  fill(panel, h("h2", {}, "Errors"), h("form", { class: "row" }, field("Within the last", range)), out);

  async function look() {
    try {
      const { rows } = await getJson(`/api/admin/errors?range=${range.value}`);
      const most = Math.max(1, ...rows.map((row) => row.count)), all = rows.reduce((total, row) => total + row.count, 0);
      fill(out, rows.length ? table(`Failed requests: ${number(all)}`, ["Endpoint", "Status", "Code", "Requests", "Share"], rows.map((row) => line(row, row.count / most)), [1, 3]) : h("p", {}, "No request failed in this time."),
        h("p", { class: "hint" }, "What each code means and what to do: ", h("a", { href: "/docs/errors" }, "errors"), ". The console's own calls are not counted."));
    } catch (error) {
      fill(out, failure(error));
    }
  }
  function line({ endpoint, status, code, count }, part) {
    const address = `#logs?${new URLSearchParams({ range: range.value, endpoint, code })}`;
    return [endpoint, String(status), h("code", { title: SAID[code] }, code), h("a", { href: address }, number(count)), share(part, "bad-mark")];
  }
  range.addEventListener("change", () => { history.replaceState(null, "", `#errors?range=${range.value}`); look(); });
  return { enter(parameters) { if (parameters?.get("range")) range.value = parameters.get("range"); look(); } };
}
