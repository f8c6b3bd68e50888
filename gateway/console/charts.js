// Charts with a scale, a time axis, and the values under the pointer or, with arrow keys, under a cursor.

import { h, number } from "./dom.js";

const WIDTH = 640, HEIGHT = 160, LEFT = matchMedia("(max-width: 60rem)").matches ? 72 : 46, RIGHT = 8, TOP = 14, BOTTOM = 20;

/** The least round number at or above a value: 1, 2 or 5 times a power of ten. */
function roof(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((step) => step * power >= value) * power;
}

const clock = (seconds, stepS) => new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false, ...(stepS < 60 ? { second: "2-digit" } : stepS > 3600 ? { weekday: "short" } : {}) });

/**
 * A chart of some series over time. `points`: objects with `t` in unix seconds; `series`: `[{name, value(point), kind}]`,
 * kind a class of the style sheet; null is a gap. `stacked`: bars on top of each other instead of lines.
 */
export function timeChart(title, points, series, { unit = "", stepS = 60, stacked = false, format = number, times = clock } = {}) {
  const values = points.map((point) => series.map((each) => each.value(point)));
  const sums = values.map((row) => (stacked ? row.reduce((total, value) => total + (value ?? 0), 0) : Math.max(0, ...row.map((value) => value ?? 0))));
  const top = roof(Math.max(0, ...sums));
  const step = (WIDTH - LEFT - RIGHT) / Math.max(1, points.length);
  const x = (index) => LEFT + step * (index + 0.5), y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
  const grid = [0, 0.5, 1].map((share) => [
    h("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(share * top), y2: y(share * top) }),
    h("text", { class: "axis", x: LEFT - 6, y: y(share * top) + 4, "text-anchor": "end" }, format(share * top))]);
  const marks = (matchMedia("(max-width: 60rem)").matches ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((share) => {
    const index = Math.round(share * (points.length - 1));
    return points[index] ? h("text", { class: "axis", x: x(index), y: HEIGHT - 4, "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" }, times(points[index].t, stepS)) : null;
  });
  const shapes = stacked
    ? values.map((row, index) => {
      let base = 0;
      return row.map((value, which) => {
        if (!value) return null;
        const bar = h("rect", { class: `bar ${series[which].kind}`, x: x(index) - step * 0.42, width: Math.max(1, step * 0.84), y: y(base + value), height: Math.max(0.5, y(base) - y(base + value)) });
        base += value;
        return bar;
      });
    })
    : series.map((each, which) => {
      const runs = [[]];
      values.forEach((row, index) => (row[which] === null || row[which] === undefined ? runs.push([]) : runs.at(-1).push(`${x(index).toFixed(1)},${y(row[which]).toFixed(1)}`)));
      return runs.filter((run) => run.length).map((run) => (run.length > 1 ? h("polyline", { class: each.kind, points: run.join(" "), fill: "none" }) : h("rect", { class: `bar ${each.kind}`, x: run[0].split(",")[0] - 1, y: run[0].split(",")[1] - 1, width: 3, height: 3 })));
    });
  const cursor = h("line", { class: "cursor", x1: 0, x2: 0, y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  const told = (value) => (value === null || value === undefined ? "–" : `${format(value)}${unit}`);
  const last = values.at(-1) ?? series.map(() => null);
  const keys = series.map((each, which) => h("strong", {}, told(last[which])));
  const when = h("span", { class: "when" });
  const caption = h("figcaption", {}, h("span", { class: "title" }, title), when,
    h("span", { class: "keys" }, series.map((each, which) => h("span", { class: `key ${each.kind}` }, series.length > 1 ? `${each.name} ` : "", keys[which]))));
  const svg = h("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", tabindex: "0",
    "aria-label": `${title}: ${series.map((each, which) => `${each.name} ${told(last[which])}`).join(", ")} now; scale to ${format(top)}${unit}` }, grid, marks, shapes, cursor);
  let at = points.length - 1;
  function look(index) {
    if (!points.length) return;
    at = Math.min(points.length - 1, Math.max(0, index));
    cursor.setAttribute("x1", x(at));
    cursor.setAttribute("x2", x(at));
    cursor.setAttribute("visibility", "visible");
    when.textContent = times(points[at].t, stepS);
    series.forEach((_, which) => { keys[which].textContent = told(values[at][which]); });
  }
  function leave() {
    cursor.setAttribute("visibility", "hidden");
    when.textContent = "";
    series.forEach((_, which) => { keys[which].textContent = told(last[which]); });
  }
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    look(Math.floor(((event.clientX - box.left) / box.width * WIDTH - LEFT) / step));
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by) { event.preventDefault(); look(at + by); }
  });
  return h("figure", { class: "chart" }, caption, svg);
}
