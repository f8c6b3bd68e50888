"""What the sanitizer redacts in real documentation, and how many planted secrets it finds there.

`python -m bench.masks --set FOLDER [--docs /] [--direction responses] [--list]`. Redactions in public documentation are
nearly all false; the set may hold `judged.json` (`[{entity, value, sensitive}]`), a judgement by eye of values that
were redacted once. A planted value counts as found or redacted when nine tenths of its characters are.
"""

import json
import random
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from bench.documentation import MarkdownPage, argument_parser, read_json, read_pages, to_markdown
from bench.planted import Plant, plants
from gateway.config.settings import Sanitize
from gateway.sanitize.policy import Direction, actions
from gateway.sanitize.scanner import Scanner

_HOST_CHARS = (4_000, 60_000)
"""Length of the pages that secrets are planted in: long enough to surround them, short enough to stay quick."""
_COVERED = 0.9
"""Share of a value that must be found: a mask may spare a prefix such as `ghp_`, but not much more."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """A redacted value and up to 40 characters on both sides of it."""

    page: MarkdownPage
    entity: str
    value: str
    before: str
    after: str


class Masks:
    """The default sanitizer in one direction."""

    def __init__(self, direction: Direction) -> None:
        config = Sanitize()
        self._scanner = Scanner(config.patterns, config.allow_list)
        self._actions = actions(config, direction)
        self.cpu_s = 0.0

    def spans(self, text: str) -> list[tuple[int, int, str, bool]]:
        """`(start, end, entity, is redacted)` of everything found."""
        started = time.process_time()
        found = self._scanner.scan(text)
        self.cpu_s += time.process_time() - started
        return [
            (each.start, each.end, each.entity, self._actions.action(each.entity, each.certain) == "redact")
            for each in found
        ]


def scan_pages(masks: Masks, pages: list[MarkdownPage]) -> tuple[list[Redaction], Counter[str]]:
    """Every redaction, and the number of findings that are only flagged by entity."""
    redactions, flagged = [], Counter[str]()
    for page in pages:
        for start, end, entity, is_redacted in masks.spans(page.text):
            if not is_redacted:
                flagged[entity] += 1
                continue
            before, after = page.text[max(0, start - 40) : start], page.text[end : end + 40]
            redactions.append(Redaction(page, entity, page.text[start:end], before, after))
    return redactions, flagged


def show_redactions(redactions: list[Redaction], flagged: Counter[str], pages: list[MarkdownPage]) -> None:
    hit = {each.page.source.url for each in redactions}
    print(f"{len(pages)} pages, {sum(len(page.text) for page in pages) / 1e6:.1f} million characters")
    print(
        f"pages with a redaction: {len(hit)} ({1000 * len(hit) / len(pages):.1f} per 1,000); "
        f"values redacted: {len(redactions)} ({1000 * len(redactions) / len(pages):.1f} per 1,000 pages); "
        f"only flagged: {dict(flagged)}"
    )
    for entity, count in Counter(each.entity for each in redactions).most_common():
        print(f"  {entity:15} {count:5}")
    sites = Counter(page.source.site for page in pages)
    for site, count in sites.items():
        values = sum(each.page.source.site == site for each in redactions)
        print(f"  site {site:15} {count:5} pages, {values:4} values")


def looking_sensitive(folder: Path) -> frozenset[tuple[str, str]]:
    """(entity, value) of `judged.json` that have the form of a credential, though they are printed in documentation."""
    if not (folder / "judged.json").is_file():
        return frozenset()
    return frozenset((each["entity"], each["value"]) for each in read_json(folder, "judged.json") if each["sensitive"])


def show_judgement(redactions: list[Redaction], folder: Path, pages: int) -> None:
    """By `judged.json` of the set, when it has one."""
    if not (folder / "judged.json").is_file():
        return
    verdicts = {(each["entity"], each["value"]): each["sensitive"] for each in read_json(folder, "judged.json")}
    counts = Counter(verdicts.get((each.entity, each.value)) for each in redactions)
    unjudged = {(each.entity, each.value) for each in redactions} - verdicts.keys()
    print(
        f"judged by eye: {counts[False]} redactions of what is not sensitive ({1000 * counts[False] / pages:.1f} per "
        f"1,000 pages), {counts[True]} of what looks it; never judged: {len(unjudged)} distinct values"
    )


def plant_in(page: MarkdownPage, plant: Plant) -> str:
    """The Markdown of the page with the sentence in its middle: through the extractor, else put in afterwards."""
    html = page.source.file.read_bytes()
    sentence = plant.sentence.replace("&", "&amp;").replace("<", "&lt;")
    at = html.find(b"</p>", len(html) // 2)
    if at >= 0:
        block = f"</p><pre>{sentence}</pre>" if "\n" in sentence or "=" in sentence else f"</p><p>{sentence}</p>"
        _, text = to_markdown(html[:at] + block.encode() + html[at + 4 :], page.source.url)
        if plant.value in text:
            return text
    blocks = page.text.split("\n\n")
    return "\n\n".join([*blocks[: len(blocks) // 2], plant.sentence, *blocks[len(blocks) // 2 :]])


def covered(spans: list[tuple[int, int]], start: int, end: int) -> bool:
    places = {place for low, high in spans for place in range(max(low, start), min(high, end))}
    return len(places) >= _COVERED * (end - start)


def show_recall(masks: Masks, pages: list[MarkdownPage], direction: Direction) -> None:
    hosts = [page for page in pages if _HOST_CHARS[0] < len(page.text) < _HOST_CHARS[1]]
    planted = plants()
    counts: dict[str, Counter[str]] = {}
    missed = []
    for plant, page in zip(planted, random.Random(7).sample(hosts, len(planted)), strict=True):
        text = plant_in(page, plant)
        start = text.index(plant.value)
        spans, end = masks.spans(text), start + len(plant.value)
        found = covered([(low, high) for low, high, _, _ in spans], start, end)
        redacted = covered([(low, high) for low, high, _, is_redacted in spans if is_redacted], start, end)
        for kind in (plant.kind, "all"):
            counts.setdefault(kind, Counter()).update(n=1, found=found, redacted=redacted)
        if not found:
            missed.append(f"  missed: {plant.kind}: {plant.sentence[:100]!r}")
    print(f"\n{'planted, ' + direction:22} {'n':>3} {'found':>6} {'redacted':>9}")
    for kind in [*(kind for kind in counts if kind != "all"), "all"]:
        row = counts[kind]
        print(f"{kind:22} {row['n']:3} {row['found']:6} {row['redacted']:9}")
    print("\n".join(missed))


def main(argv: list[str] | None = None) -> int:
    parser = argument_parser(__doc__)
    parser.add_argument("--direction", choices=("responses", "requests"), default="responses")
    parser.add_argument("--list", action="store_true", help="print every redacted value with its surroundings")
    options = parser.parse_args(argv)
    if options.set is None:
        print("masks: skipped, needs --set")
        return 0
    pages, masks = list(read_pages(options.set, options.docs)), Masks(options.direction)
    redactions, flagged = scan_pages(masks, pages)
    show_redactions(redactions, flagged, pages)
    print(f"detectors: {masks.cpu_s:.1f} s of CPU")
    show_judgement(redactions, options.set, len(pages))
    if options.list:
        for each in sorted(redactions, key=lambda each: (each.entity, each.value)):
            row = {"entity": each.entity, "value": each.value, "before": each.before, "after": each.after}
            print(json.dumps({"page": each.page.source.url, **row}, ensure_ascii=False))
    show_recall(masks, pages, options.direction)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
