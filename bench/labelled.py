"""Labelled pages for training and judging extraction: their measures, labels by block, and word F1.

A folder holds ground-truth.jsonl, which may be packed by gzip, and ID.html.gz (WCXB, Murrough Foley, CC-BY-4.0). A
block's label is the share of it that stands in the wanted text. A fifth of the pages, by the SHA-256 of their domain,
is held out: rules and models are tried on the others (`part`).
"""

import difflib
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gateway.engines.content.blocks import TextBlock
from gateway.engines.content.prune import measure_page
from gateway.engines.html.encoding import decode
from gateway.engines.html.head import Head, read_head
from gateway.engines.html.tree import parse

PARTS = ("all", "development", "held-out")
_SHORT_WORDS = 4
"""Shorter blocks stand in nearly every text by chance (menus: "About"): only their place in the text tells."""
_TARGETS = re.compile(r"\]\((?:[^()\s]|\([^()\s]*\))*\)")


def words(text: str) -> Counter[str]:
    """Lower-cased words with their counts, Markdown link targets left out."""
    return Counter(re.findall(r"\w+", _TARGETS.sub("] ", text).lower()))


def f1(found: Counter[str], wanted: Counter[str]) -> tuple[float, float, float]:
    """(F1, precision, recall)."""
    both = (found & wanted).total()
    if not found or not wanted:
        value = float(not found and not wanted)
        return value, value, value
    precision, recall = both / found.total(), both / wanted.total()
    return (2 * precision * recall / (precision + recall) if both else 0.0), precision, recall


class Page:
    """One labelled page. `measured` and `head` are None unless it is asked to be measured."""

    def __init__(self, raw: dict[str, Any], folder: Path, *, measure: bool) -> None:
        self.number, self.kind = str(raw["id"]), str(raw["page_type"])
        self.url, self.text = str(raw["url"]), str(raw["main_content"])
        self.body = gzip.decompress((folder / f"{self.number}.html.gz").read_bytes())
        self.wanted = words(self.text)
        self.head: Head | None = None
        self.measured: Any = None
        if measure:
            root = parse(decode(self.body, "text/html"))
            self.head = read_head(root, self.url)
            self.measured = measure_page(root, self.head)
        self.labels = _labels(self.measured.blocks, self.text) if self.measured else []
        self.size = len(self.measured.blocks) if self.measured and self.measured.columns else 0


def is_held_out(url: str) -> bool:
    """Whether the page's domain belongs to the fifth that nothing is trained or tried on."""
    domain = urlsplit(url).hostname or ""
    return int.from_bytes(hashlib.sha256(domain.encode()).digest()) % 5 == 0


def read(folder: Path, only: str = "", part: str = "all", *, measure: bool = False) -> list[Page]:
    """The pages in the order of the file; `only` names one page type, `part` is one of PARTS."""
    packed = folder / "ground-truth.jsonl.gz"
    text = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / "ground-truth.jsonl").read_bytes()
    rows = [json.loads(line) for line in text.decode().split("\n") if line]  # texts hold other ends of lines
    wanted = {"all": (True, False), "development": (False,), "held-out": (True,)}[part]
    return [
        Page(row, folder, measure=measure)
        for row in rows
        if only in ("", row["page_type"]) and is_held_out(row["url"]) in wanted
    ]


def _labels(blocks: Sequence[TextBlock], text: str) -> list[float]:
    """The share of each block that stands in the wanted text: in its place (by aligning page and text); of longer ones
    also anywhere, by runs of three words."""
    tokens = re.findall(r"\w+", text.lower())
    triples = set(zip(tokens, tokens[1:], tokens[2:], strict=False))
    out = []
    for block, label in zip(blocks, _aligned(blocks, tokens), strict=True):
        if len(block.words) >= _SHORT_WORDS:
            runs = list(zip(block.words, block.words[1:], block.words[2:], strict=False))
            label = max(label, sum(run in triples for run in runs) / len(runs))
        out.append(label)
    return out


def _aligned(blocks: Sequence[TextBlock], wanted: list[str]) -> list[float]:
    found = [word for block in blocks for word in block.words]
    is_wanted = bytearray(len(found))
    for start, _, count in difflib.SequenceMatcher(None, found, wanted, autojunk=False).get_matching_blocks():
        is_wanted[start : start + count] = b"\x01" * count
    out = []
    at = 0
    for block in blocks:
        out.append(sum(is_wanted[at : at + len(block.words)]) / len(block.words))
        at += len(block.words)
    return out
