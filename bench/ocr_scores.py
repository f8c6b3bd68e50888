"""Scores of an OCR answer against a page's known text: characters, words, order, code, tables.

The definitions of the shared tool that measures a running gateway: white space as one blank, NFKC, typographic quotes
and dashes as plain ones, bullets and an editor's line numbers left out. Knows nothing of engines.
"""

import difflib
import html
import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, TypedDict

from bench.ocr import distance

BULLETS = str.maketrans("", "", "•·●▪◦‣\u25a0□○☐☑☒¶")
PLAIN = str.maketrans("‘’‚“”„–—−‐‑…", "'''\"\"\"-----.")
INVISIBLE = str.maketrans("", "", "\u200f\u200e\u200b")
GROUNDED = re.compile(r"^\w+\[\[[\d, ]+\]\]\s*$", re.MULTILINE)
CODE_KINDS = ("dark_code", "terminal", "light_code")
NOT_ORDERED = ("nav", "lineno", "math", "chart")


class Truth(TypedDict):
    """What is known of a picture, as collect.js wrote it."""

    category: str
    file: str
    text: str
    blocks: list[dict[str, Any]]
    code_lines: list[str]
    table_cells: list[list[tuple[int, int, int, int, str]]]


def norm(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).translate(BULLETS).translate(INVISIBLE)
    return " ".join(text.translate(PLAIN).split())


def words(text: str) -> list[str]:
    """Letters and digits; scripts without blanks between words count by character."""
    found: list[str] = []
    for word in re.findall(r"[^\W_]+(?:[\u0300-\u036f\u0900-\u0963\u0e31\u0e34-\u0e4e]*[^\W_]*)*", norm(text)):
        found += list(word) if re.match(r"[\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff]", word) else [word]
    return found


def f1(truth: Iterable[object], said: Iterable[object]) -> float:
    """F1 over two bags; 1 where both are empty."""
    wanted, got = Counter(truth), Counter(said)
    if not wanted and not got:
        return 1.0
    return 2 * (wanted & got).total() / (wanted.total() + got.total())


def plain(answer: str) -> str:
    """The words of an answer: boxes, heading signs, fences, table markup and pipes taken away."""
    text = re.sub(r"</t[dh]>|</tr>|<br\s*/?>", "\n", GROUNDED.sub("", answer))
    text = html.unescape(re.sub(r"</?(table|thead|tbody|tr|td|th)\b[^>]*>", "", text))
    text = re.sub(r"^\|?(\s*:?-{3,}:?\s*\|)+\s*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^#{1,6} ", "", text, flags=re.MULTILINE)
    rows = (re.sub(r"(?<!\\)\|", " ", row) if re.match(r"^\s*\|.*\|\s*$", row) else row for row in text.split("\n"))
    return "\n".join(rows).replace("\\|", "|").replace("```", "")


def order(blocks: list[dict[str, Any]], said: str) -> float | None:
    """The longest rising run over the places where the blocks stand in the answer, over their number; None for under
    three blocks."""
    said = norm(said).lower()
    texts = [norm(block["text"]).lower() for block in blocks if block["kind"] not in NOT_ORDERED]
    places = [place for text in texts if len(text) >= 8 and (place := _place(said, text)) is not None]
    if len(places) < 3:
        return None
    ends: list[int] = []
    for place in places:
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
    return len(ends) / len(places)


def _place(said: str, text: str) -> int | None:
    if said.count(text[:24]) == 1:
        return said.find(text[:24])
    half = text[: max(8, min(40, len(text) // 2))]
    match = difflib.SequenceMatcher(None, said, half, autojunk=False).find_longest_match()
    is_clear = match.size >= max(6, 0.5 * len(half)) and said.count(half[match.b : match.b + match.size]) == 1
    return match.a - match.b if is_clear else None


def code(lines: Sequence[str], answer: str) -> tuple[float, float]:
    """Shares of the source's lines that come back with their indentation (relative to the least), and without it."""
    said = [row.expandtabs(4).rstrip() for row in html.unescape(answer).split("\n")]
    truth = [row for row in lines if row.strip()]
    bare = Counter(" ".join(unicodedata.normalize("NFKC", row).split()) for row in said)
    wanted = Counter(" ".join(unicodedata.normalize("NFKC", row).split()) for row in truth)
    loose = (wanted & bare).total()
    base = min(len(row) - len(row.lstrip()) for row in truth)
    low = min((len(row) - len(row.lstrip()) for row in said if row.strip()), default=0)
    exact = Counter(unicodedata.normalize("NFKC", row[base:]).rstrip() for row in truth)
    full = (exact & Counter(unicodedata.normalize("NFKC", row[low:]) for row in said)).total()
    return full / len(truth), loose / len(truth)


def tables_said(answer: str) -> list[list[list[str]]]:
    """The rows of cells of HTML tables, or of pipe tables where there are none."""
    found = [
        [
            [norm(html.unescape(re.sub("<[^>]+>", "", cell))) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)]
            for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        ]
        for table in re.findall(r"<table>(.*?)</table>", answer, re.DOTALL)
    ]
    if found:
        return found
    rows = [row.strip() for row in answer.split("\n") if re.match(r"^\s*\|.*\|\s*$", row)]
    cells = (re.split(r"(?<!\\)\|", row)[1:-1] for row in rows if not re.fullmatch(r"[|\s:-]+", row))
    return [[[norm(cell.replace("\\|", "|")) for cell in row] for row in cells]]


def tables(truth: list[list[tuple[int, int, int, int, str]]], answer: str) -> float:
    """The mean of F1 over cells and over (cell, its right neighbour), empty cells left out."""
    wanted: list[list[str]] = []
    for table in truth:
        rows: dict[int, list[str]] = defaultdict(list)
        for row, _, _, _, text in sorted(table, key=lambda cell: (cell[0], cell[1])):
            if norm(text):
                rows[row].append(norm(text))
        wanted.extend(rows.values())
    said = [[cell for cell in row if cell] for table in tables_said(answer) for row in table]
    cells = f1((cell for row in wanted for cell in row), (cell for row in said for cell in row))
    pairs = f1((pair for row in wanted for pair in pairwise(row)), (pair for row in said for pair in pairwise(row)))
    return (cells + pairs) / 2


def without_numbers(truth: Truth, text: str) -> str:
    """Takes an editor's line numbers from the starts of lines: reading them is no fault, leaving them out neither."""
    numbers = {n for block in truth["blocks"] if block["kind"] == "lineno" for n in block["text"].split()}
    rows = []
    for row in text.split("\n"):
        cut = re.match(r"^[\s|]*(\d{1,5})(?:\s?\|?|$)", row)
        rows.append(row[cut.end() :] if cut and cut[1] in numbers else row)
    return "\n".join(rows)


def score(truth: Truth, answer: str) -> dict[str, float]:
    """The scores that apply to this picture: cer, f1, and where they apply order, code, code_loose, table, junk.

    `junk`: whether code or a terminal came back with a table in it.
    """
    said = without_numbers(truth, plain(answer))
    kept = [block for block in truth["blocks"] if block["kind"] != "lineno"]
    text = "\n".join(block["text"] for block in kept)
    wanted = norm(text)
    row = {"cer": min(1.0, distance(wanted, norm(said)) / max(1, len(wanted))), "f1": f1(words(text), words(said))}
    placed = order(kept, said)
    if placed is not None:
        row["order"] = placed
    if truth.get("code_lines") and truth["category"] in CODE_KINDS:
        bare = GROUNDED.sub("", answer)
        row["code"], row["code_loose"] = code(truth["code_lines"], without_numbers(truth, bare))
        row["junk"] = float("<table>" in answer or bool(re.search(r"^\| --- \|", answer, re.MULTILINE)))
    if truth.get("table_cells"):
        row["table"] = tables(truth["table_cells"], answer)
    return row
