"""Quality and speed of content extraction on labelled pages, beside trafilatura in the same run.

`python -m bench.extract [--data DIR] [--no-rival] [--worst N] [--type T]`. Score: F1 of the multisets of lower-cased
words, Markdown marks taken off. DIR holds extract/ground-truth.jsonl and extract/ID.html.gz.
"""

import argparse
import gzip
import json
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

from gateway.engines.extract import ExtractOptions, extract

_TARGETS = re.compile(r"\]\((?:[^()\s]|\([^()\s]*\))*\)")


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", _TARGETS.sub("] ", text).lower()))


def f1(found: Counter[str], wanted: Counter[str]) -> tuple[float, float, float]:
    """(F1, precision, recall)."""
    both = (found & wanted).total()
    if not found or not wanted:
        value = float(not found and not wanted)
        return value, value, value
    precision, recall = both / found.total(), both / wanted.total()
    return (2 * precision * recall / (precision + recall) if both else 0.0), precision, recall


def ours(depth: str) -> Callable[[bytes, str], str]:
    def run(body: bytes, url: str) -> str:
        return str(extract(body, ExtractOptions(url, "text/html", depth))["content"])

    return run


def rival(body: bytes, url: str) -> str:
    import trafilatura

    return trafilatura.extract(body, url=url, include_comments=False) or ""


def pages(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "ground-truth.jsonl").read_text().splitlines()]


def score(
    name: str, run: Callable[[bytes, str], str], folder: Path, only: str
) -> list[tuple[str, str, float, float, float]]:
    """(type, id, F1, precision, recall) of each page; prints means and pages per second of CPU time."""
    rows = []
    spent_s = 0.0
    for page in pages(folder):
        kind = page_type(page)
        if only and kind != only:
            continue
        body = gzip.decompress((folder / f"{page_id(page)}.html.gz").read_bytes())
        started = time.process_time()
        text = run(body, str(page.get("url") or "http://example.com/"))
        spent_s += time.process_time() - started
        rows.append((kind, page_id(page), *f1(words(text), words(wanted(page)))))
    by_type = defaultdict(list)
    for row in rows:
        by_type[row[0]].append(row[2])
    mean = {kind: sum(values) / len(values) for kind, values in sorted(by_type.items())}
    shown = " ".join(f"{kind} {value:.3f}" for kind, value in mean.items())
    print(f"{name:12s} all {sum(mean.values()) / len(mean):.3f} | {shown} | {len(rows) / spent_s:.1f} pages/s")
    return rows


def page_type(page: dict[str, object]) -> str:
    return str(page.get("page_type") or page.get("type"))


def page_id(page: dict[str, object]) -> str:
    return str(page.get("id") or page.get("file_id"))


def wanted(page: dict[str, object]) -> str:
    return str(page["main_content"])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DATA_DIR", "../shared/data")))
    parser.add_argument("--no-rival", action="store_true")
    parser.add_argument("--worst", type=int, default=0)
    parser.add_argument("--type", default="")
    parser.add_argument("--depth", default="")
    options = parser.parse_args(argv)
    folder = options.data / "extract"
    if not folder.is_dir():
        print(f"extract: skipped, no data at {folder}")
        return 0
    for depth in [options.depth] if options.depth else ["basic", "advanced"]:
        rows = score(depth, ours(depth), folder, options.type)
        for kind, number, value, precision, recall in sorted(rows, key=lambda row: row[2])[: options.worst]:
            print(f"  {number} {kind:14s} F1 {value:.3f} P {precision:.3f} R {recall:.3f}")
    if not options.no_rival:
        score("trafilatura", rival, folder, options.type)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
