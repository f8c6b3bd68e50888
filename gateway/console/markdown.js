// Shows Markdown as elements. There is no way from a text to HTML: elements are made one by one, links go to http(s)
// alone, pictures become links. What is not understood is shown as it was written.

import { h } from "./dom.js";

const MAX_DEPTH = 8;

/** The elements of a Markdown text. */
export function markdown(text) {
  return h("div", { class: "markdown" }, blocks(text.replaceAll("\r\n", "\n").split("\n"), 0));
}

function blocks(lines, depth) {
  const out = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    let match;
    if (!line.trim()) { at += 1; continue; }
    if ((match = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line))) {
      let end = at + 1;
      while (end < lines.length && !lines[end].trim().startsWith(match[1])) end += 1;
      out.push(h("pre", { tabindex: "0" }, h("code", {}, lines.slice(at + 1, end).join("\n"))));
      at = end + 1;
    } else if ((match = /^ {0,3}(#{1,6}) +(.*?)#* *$/.exec(line))) {
      out.push(h(`h${Math.min(match[1].length + 2, 6)}`, {}, inline(match[2], 0)));
      at += 1;
    } else if (/^ {0,3}([-*_])( *\1){2,} *$/.test(line)) {
      out.push(h("hr"));
      at += 1;
    } else if (/^ {0,3}>/.test(line) && depth < MAX_DEPTH) {
      const end = runOf(lines, at, (each) => /^ {0,3}>/.test(each));
      out.push(h("blockquote", {}, blocks(lines.slice(at, end).map((each) => each.replace(/^ {0,3}> ?/, "")), depth + 1)));
      at = end;
    } else if (line.includes("|") && /^ *\|?[ :|-]*-[ :|-]*$/.test(lines[at + 1] ?? "")) {
      const end = runOf(lines, at + 2, (each) => each.includes("|"));
      const rows = [line, ...lines.slice(at + 2, end)].map(cellsOf);
      out.push(h("div", { class: "scroll", tabindex: "0" }, h("table", {},
        h("thead", {}, h("tr", {}, rows[0].map((cell) => h("th", { scope: "col" }, inline(cell, 0))))),
        h("tbody", {}, rows.slice(1).map((row) => h("tr", {}, row.map((cell) => h("td", {}, inline(cell, 0)))))))));
      at = end;
    } else if ((match = /^( *)([-*+]|\d{1,9}[.)]) +/.exec(line)) && depth < MAX_DEPTH) {
      const [list, end] = listAt(lines, at, depth);
      out.push(list);
      at = end;
    } else {
      const end = Math.max(at + 1, runOf(lines, at, (each) => each.trim() && !/^ {0,3}(#{1,6} |>|`{3}|~{3}|[-*+] |\d{1,9}[.)] )/.test(each)));
      out.push(h("p", {}, inline(lines.slice(at, end).join("\n"), 0)));
      at = end;
    }
  }
  return out;
}

function runOf(lines, at, holds) {
  while (at < lines.length && holds(lines[at])) at += 1;
  return at;
}

function listAt(lines, start, depth) {
  const first = /^( *)([-*+]|\d{1,9}[.)]) +/.exec(lines[start]);
  const indent = first[1].length, isOrdered = /\d/.test(first[2]);
  const items = [];
  let at = start;
  while (at < lines.length) {
    const match = /^( *)([-*+]|\d{1,9}[.)]) +/.exec(lines[at]);
    if (!match || match[1].length > indent + 1 || match[1].length < indent || /\d/.test(match[2]) !== isOrdered) break;
    const own = [lines[at].slice(match[0].length)];
    at += 1;
    while (at < lines.length && (!lines[at].trim() || /^ */.exec(lines[at])[0].length > indent + 1)) {
      if (!lines[at].trim() && !/^ {2,}/.test(lines[at + 1] ?? "")) break;
      own.push(lines[at].slice(Math.min(match[0].length, /^ */.exec(lines[at])[0].length)));
      at += 1;
    }
    items.push(h("li", {}, own.length > 1 ? [inline(own[0], 0), blocks(own.slice(1), depth + 1)] : inline(own[0], 0)));
    if (at < lines.length && !lines[at].trim()) {
      if (!/^( *)([-*+]|\d{1,9}[.)]) +/.test(lines[at + 1] ?? "")) break;
      at += 1;
    }
  }
  return [h(isOrdered ? "ol" : "ul", {}, items), at];
}

const cellsOf = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

// Code first, then links and pictures, then emphasis. Each part is bounded, so that no text takes long.
const INLINE = /(`{1,3})([^`\n]{1,2000})\1|(!?)\[((?:[^[\]\n]|\[[^[\]\n]{0,200}\]){0,1000})\]\(<?([^\s()<>]{1,2000}(?:\([^\s()]{0,200}\)[^\s()<>]{0,200})?)>?(?: +"[^"\n]{0,300}")?\)|\*\*([^*\n]{1,2000})\*\*|(?<![\w*])[*_]([^*_\n]{1,1000})[*_](?![\w*])|\b(https?:\/\/[^\s<>"')\]]{1,2000})/g;

function inline(text, depth) {
  if (depth > 4) return [text];
  const out = [];
  let last = 0;
  for (const match of text.matchAll(INLINE)) {
    out.push(text.slice(last, match.index));
    last = match.index + match[0].length;
    if (match[2] !== undefined) out.push(h("code", {}, match[2]));
    else if (match[5] !== undefined) out.push(link(match[5], match[3] ? [`picture: ${match[4] || match[5]}`] : inline(match[4] || match[5], depth + 1)));
    else if (match[6] !== undefined) out.push(h("strong", {}, inline(match[6], depth + 1)));
    else if (match[7] !== undefined) out.push(h("em", {}, inline(match[7], depth + 1)));
    else out.push(link(match[8], [match[8]]));
  }
  return [...out, text.slice(last)];
}

/** A link that opens in a new tab and tells nothing to it; anything but http(s) is shown as text. */
export function link(address, children) {
  let url = null;
  try { url = new URL(address); } catch { /* relative, or no address */ }
  if (!url || !["http:", "https:"].includes(url.protocol)) return h("span", { title: address }, children);
  return h("a", { href: url.href, target: "_blank", rel: "noopener noreferrer nofollow" }, children);
}
