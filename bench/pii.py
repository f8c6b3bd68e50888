"""How much leaks, how much is masked wrongly, what it costs: `python -m bench.pii [--data DIR]`.

`--data` holds `pii/labelled.jsonl` (texts with spans) and `pii/clean.jsonl` (texts that must pass unchanged), and
`extract/ground-truth.jsonl` for article text. A labelled value has leaked when less than 80 % of it is masked. CPU
times are of one thread, the best of several runs.

Documentation is a gate: where the set `docs` and its packages (`--docs /`) are there, the program ends with 1 when
answers lose more than one value in 1,000 pages that does not look like a credential, or a planted secret stays in one.
"""

import argparse
import base64
import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.documentation import read_json, read_pages
from bench.masks import Masks, covered, looking_sensitive, scan_pages
from bench.pii_rows import ORDINARY
from bench.planted import Plant, plants
from gateway.config.settings import Sanitize
from gateway.domain import Event
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.stream_mask import StreamMask
from gateway.texts import TextSlot

STRUCTURED = (
    "SECRET", "SECRET_GENERIC", "CREDIT_CARD", "IBAN", "NATIONAL_ID", "US_SSN", "EMAIL", "PHONE", "PHONE_INTL", "IP",
)  # fmt: skip
Span = tuple[int, int]
Find = Callable[[str], list[Span]]
_VALUES = {
    "card": "4539148803436467", "iban": "GB12WEST12345698765431", "mail": "jane.doe@posthaus.org",
    "key": "AKIA" + "QWERTY7Z" * 2, "phone": "+41446681800",
}  # fmt: skip
_DISGUISES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "fullwidth": lambda value: "".join(chr(ord(char) + 0xFEE0) for char in value),
    "other digits": lambda value: value.translate({0x30 + n: 0x966 + n for n in range(10)}),
    "zero width": "\u200b".join,
    "combining": lambda value: "".join(char + "\u0301" for char in value),
    "cyrillic": lambda value: value.translate(str.maketrans("aeopcxEABKMHTPC", "аеорсхЕАВКМНТРС")),
    "spaced": " ".join,
    "dotted": ".".join,
    "percent": lambda value: "".join(f"%{ord(char):02X}" for char in value),
    "entities": lambda value: "".join(f"&#{ord(char)};" for char in value),
    "escapes": lambda value: "".join(f"\\u{ord(char):04x}" for char in value),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "hex": lambda value: value.encode().hex(),
    "at and dot": lambda value: value.replace("@", " [at] ").replace(".", " [dot] "),
    "reversed": lambda value: value[::-1],
}
_HOSTILE = (
    "1", "1 ", "1.1.1.1 ", "@", "a@", "[at]", "4539148803436467 ", "GB12 WEST 1234 5698 7654 31 ",
    "%41", "eyJ", "password=",
    "password= a1b2c3d4 ", "key: ", "+44 7700 900123 ", "tel 123 456 ", "dni ", "dni 12345678 ", "ssn 123 45 6789 ",
    "-----BEGIN PRIVATE KEY-----", "http://x/1?a=%34 ", "YWJjZGVmZ2hpamtsbW5vcA== ",
    "6162636465666768 ", "4\u200b", "한",
    "2a01:4f8::1 ", "1.2.3.4.5.6.7.8.9", "jane@posthaus.org ", "AKIA" + "A" * 16 + " ",
)  # fmt: skip


def ours() -> Find:
    scanner = Scanner()
    return lambda text: [(found.start, found.end) for found in scanner.scan(text)]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def leaks(find: Find, labelled: Sequence[dict[str, Any]]) -> tuple[Counter[str], Counter[str]]:
    """(values, leaked values) by entity."""
    total: Counter[str] = Counter()
    leaked: Counter[str] = Counter()
    for row in labelled:
        wanted = [span for span in row["spans"] if span["type"] in STRUCTURED]
        if not wanted:
            continue
        found = find(row["text"])
        for span in wanted:
            covered = sum(max(0, min(end, span["end"]) - max(start, span["start"])) for start, end in found)
            total[span["type"]] += 1
            leaked[span["type"]] += covered < 0.8 * (span["end"] - span["start"])
    return total, leaked


def print_quality(find: Find, data: Path) -> None:
    labelled, clean = lines(data / "labelled.jsonl"), lines(data / "clean.jsonl")
    total, leaked = leaks(find, labelled)
    print(f"{'leaked':<16}{'n':>6}")
    for entity in STRUCTURED:
        if count := total[entity]:
            print(f"{entity:<16}{count:>6}{leaked[entity] / count:>12.3f}")
    print(f"{'all':<22}{leaked.total() / total.total():>12.4f}")
    wrong = sum(bool(find(row["text"])) for row in clean) / len(clean)
    print(f"{'false redactions':<16}{len(clean):>6}{wrong:>12.4f}")


def print_evasion(find: Find) -> None:
    print("\nnot found when")
    for name, disguise in _DISGUISES.items():
        texts = [f"please look up {disguise(value)} for me" for value in _VALUES.values()]
        missed = sum(not find(text) for text in texts)
        print(f"{name:<22}{f'{missed} of {len(texts)}':>12}")


def check_documentation(folder: Path, docs: Path) -> bool:
    """Whether answers keep the pages of the set whole and lose what is planted in them; True when it is not there."""
    if not (folder / "sites.json").is_file():
        print(f"\ndocumentation left out: no set in {folder}")
        return True
    if not all((docs / site["dir"]).is_dir() for site in read_json(folder, "sites.json")):
        print(f"\ndocumentation left out: its packages are not below {docs}")
        return True
    pages, found = list(read_pages(folder, docs)), Masks("responses")
    redactions, _ = scan_pages(found, pages)
    looks_it = looking_sensitive(folder)
    wrong = [each for each in redactions if (each.entity, each.value) not in looks_it]
    missed = [plant for plant in plants() if plant.is_redacted and not is_redacted(found, plant)]
    print(f"\n{'documentation':<22}{len(pages):>12} pages, {len(redactions)} values redacted in answers")
    print(f"{'  no credential':<22}{len(wrong):>12} ({1000 * len(wrong) / len(pages):.2f} per 1,000 pages; at most 1)")
    print(f"{'  planted, not masked':<22}{len(missed):>12}")
    for each in wrong:
        print(f"    {each.entity} {each.page.source.name}: {each.before[-30:]!r} {each.value[:40]!r}")
    return 1000 * len(wrong) <= len(pages) and not missed


def is_redacted(found: Masks, plant: Plant) -> bool:
    """Whether the planted value is masked in its own sentence."""
    start = plant.sentence.index(plant.value)
    return covered(
        [(low, high) for low, high, _, redacted in found.spans(plant.sentence) if redacted],
        start,
        start + len(plant.value),
    )


def cpu_ms(work: Callable[[], object], runs: int = 5) -> float:
    best = 1e9
    for _ in range(runs):
        started = time.thread_time()
        work()
        best = min(best, time.thread_time() - started)
    return best * 1000


def articles(data: Path) -> list[str]:
    """Article text in pieces of 100,000 characters."""
    path = data / "extract" / "ground-truth.jsonl"
    text = "\n\n".join(row.get("main_content") or "" for row in lines(path)) if path.exists() else ""
    return [text[at : at + 100_000] for at in range(0, len(text) - 99_999, 100_000)][:4]


def print_speed(data: Path) -> None:
    scan, source = Scanner().scan_uncached, random.Random(1)
    print("\nCPU, ms a text of 100,000 characters (short query: ms each)")
    for number, article in enumerate(articles(data)):
        print(f"  article {number:<14}{cpu_ms(partial(scan, article)):>9.2f}")
    rows = [",".join(str(source.randint(0, 10 ** source.randint(1, 9))) for _ in range(10)) for _ in range(2000)]
    print(f"  {'digits, CSV':<22}{cpu_ms(lambda: scan(chr(10).join(rows)[:100_000])):>9.2f}")
    dense = "".join(
        source.choice("0123456789 ,.\n-") if source.random() < 0.7 else source.choice("abcdef ") for _ in range(100_000)
    )
    print(f"  {'digits, random':<22}{cpu_ms(lambda: scan(dense)):>9.2f}")
    query = "best python web framework 2026 comparison"
    print(f"  {'short query':<22}{cpu_ms(lambda: [scan(query) for _ in range(1000)]) / 1000:>9.4f}")
    rows_of = {kind: "".join(row(source) for _ in range(6000))[:100_000] for kind, row in ORDINARY.items()}
    ordinary = {kind: cpu_ms(partial(scan, rows_of[kind]), 2) for kind in rows_of}
    for kind in sorted(ordinary, key=ordinary.__getitem__, reverse=True)[:5]:
        print(f"  rows of {kind[:13]:<14}{ordinary[kind]:>9.2f}")
    hostile = {unit: cpu_ms(partial(scan, (unit * 100_000)[:100_000]), 2) for unit in _HOSTILE}
    for unit in sorted(hostile, key=hostile.__getitem__, reverse=True)[:5]:
        print(f"  hostile {unit[:13]!r:<14}{hostile[unit]:>9.2f}")


def print_stream() -> None:
    words = [
        f"{word} " for word in ("the", "quick", "brown", "fox", "jumps", "over", "13", "lazy", "dogs,", "then")
    ] * 100
    table = actions(Sanitize(), "responses")

    def slots_of(data: dict[str, Any]) -> list[TextSlot]:
        return [TextSlot(data, "text", "text", channel=0)]

    def run() -> None:
        findings: list[str] = []
        mask = StreamMask(Scanner(), table, slots_of, findings.append)
        for word in words:
            mask.push([Event.from_data({"text": word})])
        mask.finish()

    setup = cpu_ms(Scanner)
    print(f"\nstream: {(cpu_ms(run) - setup) / len(words) * 1000:.1f} us of CPU a chunk of one word")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DATA_DIR", "../shared/data")))
    parser.add_argument("--docs", type=Path, default=Path("/"), help="where the packages of the set docs are")
    options = parser.parse_args(argv)
    find = ours()
    if (options.data / "pii" / "labelled.jsonl").exists():
        print_quality(find, options.data / "pii")
    else:
        print(f"leak rate left out: no labelled data in {options.data}/pii (--data DIR)")
    print_evasion(find)
    print_speed(options.data)
    print_stream()
    return 0 if check_documentation(options.data / "docs", options.docs) else 1


if __name__ == "__main__":
    raise SystemExit(main())
