"""Quality and speed of content extraction on labelled pages, beside trafilatura in the same run.

`python -m bench.extract [--data DIR] [--cross-validate] [--no-rival] [--worst N] [--type T] `. Score: F1 of
the multisets of lower-cased words, Markdown marks taken off, averaged over the pages of each type, then over types.

The shipped models were trained on all of these pages, so a plain run flatters them: it tells speed, and that what is
shipped still works. Quality on pages never seen is told by --cross-validate: the pages are dealt into five folds, and
each page is extracted with models trained on the other four alone. Everything that is trained is trained anew.

A third of the pages, by a fixed hash of their number, is held out: no rule was chosen by their figures. `--held-out`
trains on the other two thirds and measures this third; `--part development` leaves it out of a cross-validation.
"""

import argparse
import multiprocessing
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from bench.labelled import PARTS, Page, f1, is_held_out, read, words
from gateway.engines.content import prune
from gateway.engines.content.models import BlockModel, PageTypes, likeliest
from gateway.engines.documents.page import extract, text_of_content
from gateway.engines.documents.parse_pool import ExtractOptions
from gateway.engines.html.encoding import decode
from gateway.engines.html.head import read_head
from gateway.engines.html.tree import parse

FOLDS = 5
Extractor = Callable[[bytes, str], str]


class Row(NamedTuple):
    """How one page came out."""

    kind: str
    number: str
    f1: float
    precision: float
    recall: float
    judged: str


def ours(body: bytes, url: str) -> str:
    return str(extract(body, ExtractOptions(url, "text/html"))["content"])


def rival(body: bytes, url: str) -> str:
    import trafilatura  # type: ignore[import-not-found]

    return trafilatura.extract(body, url=url, include_comments=False) or ""


def scored(page: Page, text: str, judged: str = "") -> Row:
    return Row(page.kind, page.number, *f1(words(text), page.wanted), judged)


def run(name: str, extractor: Extractor, pages: Sequence[Page]) -> list[Row]:
    """Extracts all pages; prints means and pages per second of CPU time."""
    rows = []
    spent_s = 0.0
    for page in pages:
        started = time.process_time()
        text = extractor(page.body, page.url)
        spent_s += time.process_time() - started
        rows.append(scored(page, text))
    show(name, rows, f"{len(rows) / spent_s:.1f} pages/s")
    return rows


def show(name: str, rows: Sequence[Row], note: str) -> None:
    by_type = defaultdict(list)
    for row in rows:
        by_type[row.kind].append(row.f1)
    mean = {kind: sum(values) / len(values) for kind, values in sorted(by_type.items())}
    shown = " ".join(f"{kind} {value:.3f}" for kind, value in mean.items())
    print(f"{name:22s} all {sum(mean.values()) / len(mean):.3f} | {shown} | {note}", flush=True)


def validated(pages: Sequence[Page], deal: int) -> list[Row]:
    """Each page extracted with models that have not seen it. `deal` turns the folds. One process per core."""
    fork = multiprocessing.get_context("fork")  # which hands the parsed pages over as they are
    count = min(os.cpu_count() or 1, FOLDS)
    ends = []
    for first in range(count):
        here, there = fork.Pipe(duplex=False)
        folds = [dealt(pages, deal, fold) for fold in range(first, FOLDS, count)]
        fork.Process(target=_folds, args=(pages, folds, there), daemon=True).start()
        there.close()
        ends.append(here)
    return [row for end in ends for row in end.recv()]


def dealt(pages: Sequence[Page], deal: int, fold: int) -> list[bool]:
    """Which pages a fold tests: every fifth of each type, counted from another one in each deal."""
    seen: dict[str, int] = defaultdict(int)
    tested = []
    for page in pages:
        at = seen[page.kind]
        seen[page.kind] += 1
        tested.append((at * (1 + deal) + at // FOLDS * deal) % FOLDS == fold)
    return tested


def _folds(pages: Sequence[Page], folds: Sequence[Sequence[bool]], answer: Connection) -> None:
    from bench.train_blocks import block_data, type_data

    rows: list[Row] = []
    for tested in folds:
        known = [page for page, test in zip(pages, tested, strict=True) if not test]
        model, types = BlockModel(block_data(known)), PageTypes(type_data(known))
        rows += _tested([page for page, test in zip(pages, tested, strict=True) if test], model, types)
    answer.send(rows)


def _tested(pages: Sequence[Page], model: BlockModel, types: PageTypes) -> Iterator[Row]:
    for page in pages:
        root = parse(decode(page.body, "text/html"))
        head = read_head(root, page.url)
        found = prune.prune_page(root, prune.measure_page(root, head), head, (model, types))
        text = text_of_content(found, head, plain=False)
        yield scored(page, text, likeliest(types.probabilities(page.measured.signals, head)) if page.size else "")


def worst(rows: Sequence[Row], count: int) -> None:
    for row in sorted(rows, key=lambda row: row.f1)[:count]:
        judged = f" taken for {row.judged}" if row.judged not in ("", row.kind) else ""
        print(f"  {row.number} {row.kind:14s} F1 {row.f1:.3f} P {row.precision:.3f} R {row.recall:.3f}{judged}")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DATA_DIR", "../shared/data")))
    parser.add_argument("--cross-validate", action="store_true")
    parser.add_argument("--part", choices=PARTS, default="all", help="of the pages, by a hash of their number")
    parser.add_argument("--held-out", action="store_true", help="train on two thirds, measure the third held out")
    parser.add_argument("--deals", type=int, default=1, help="how often the folds are dealt anew")
    parser.add_argument("--no-rival", action="store_true")
    parser.add_argument("--worst", type=int, default=0)
    parser.add_argument("--type", default="")
    options = parser.parse_args(argv)
    folder = options.data / "extract"
    if not folder.is_dir():
        print(f"extract: skipped, no data at {folder}")
        return 0
    if options.held_out:
        _held_out(folder, options.worst)
        return 0
    if options.cross_validate:
        _cross_validate(folder, options)
    pages = read(folder, only=options.type, part=options.part)
    rows = run("shipped", ours, pages)
    if not options.cross_validate:
        worst(rows, options.worst)
    print(f"  (the shipped models were trained on these {len(pages)} pages: see --cross-validate for unseen ones)")
    if not options.no_rival:
        run("trafilatura", rival, pages)
    return 0


def _held_out(folder: Path, count: int) -> None:
    from bench.train_blocks import block_data, type_data

    pages = read(folder, measure=True)
    known = [page for page in pages if not is_held_out(page.url)]
    model, types = BlockModel(block_data(known)), PageTypes(type_data(known))
    rows = list(_tested([page for page in pages if is_held_out(page.url)], model, types))
    show("held out", rows, f"{len(rows)} pages; trained on the other {len(known)}")
    worst(rows, count)


def _cross_validate(folder: Path, options: argparse.Namespace) -> None:
    pages = read(folder, part=options.part, measure=True)
    rows: list[Row] = []
    for deal in range(options.deals):
        rows += validated(pages, deal)
    rows = [row for row in rows if options.type in ("", row.kind)]
    right = sum(row.judged == row.kind for row in rows) / len(rows)
    show("unseen pages", rows, f"type judged right {right:.0%}")
    worst(rows, options.worst)


if __name__ == "__main__":
    raise SystemExit(main())
