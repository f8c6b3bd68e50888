"""Looks for texts that the sanitizer is slow on: `python -m bench.pii_fuzz [--seconds N] [--seed N]`.

A text of 100,000 characters is a unit of some parts said again and again. A part is a piece of text or a maker (see
`pii_makers`), plain or disguised, which draws a new value every time or, when the text is `repeated`, the same one.
Units grow by mutation; the slowest survive; every fourth is a new one, so that the search does not stay where it is.
CPU times are of one thread; the worst ones are measured again at the end, the best of two runs. The machine's own speed
drifts: beside each time stands that of a fixed loop right before and behind it.
"""

import argparse
import random
import time
from collections.abc import Callable

from bench.pii_makers import DISGUISES, MAKERS
from gateway.config.settings import Sanitize
from gateway.sanitize.placeholders import Placeholders
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.slot_mask import KnownValues, Masks, SlotMasker
from gateway.texts import TextSlot

SIZE = 100_000
_TRIED_AT = 20_000
_MOST_PARTS = 24
_LINEAGES = 4
"""Searches one after the other, each from its own beginnings, as one soon keeps to what it found first."""
PIECES = (
    "1", "12", "123", "1234", "123456", "123456789", "4539148803436467", "123-45-6789", "0", "00", "+", "+44 ",
    "+1 ", " ", "  ", "\n", "\t", ".", "-", "/", ":", ",", ";", "=", "@", "%", "&", "\\", "?", "#", "_", "(", ")",
    "[", "]", "{", "}", "<", ">", '"', "'", "`", "|", "*", "$", "!", "~", "a", "b1", "abc", "Ab1", "xyz ", "word ",
    "tel ", "call ", "phone", "fax", "number is ", "card ", "visa ", "ssn ", "dni ", "id number ", "nif ",
    "cedula ", "pin ", "tin ", "cc ", "password", "password=", "key: ", "token ", "secret=", "api_key=", "bearer ",
    "is ", "Authorization: ", " -u ", "basic ", "http://", "https://x.y/", "://", "a:b@", "www.", ".com",
    "jane@x.org", " at ", " dot ", "[at]", "[dot]", " @ ", "(at)", "%41", "%2e", "&#65;", "&amp;", "\\u0041",
    "\\x41", "=41", "QUJD", "YWJjZGVmZ2hpamtsbW5vcA==", "6162636465666768", "4 1 1 1 ", "a b c ", "a.b.", "GB82",
    "GB82 WEST ", "DE89", "AKIA", "ghp_", "sk-", "eyJ", "SG.", "-----BEGIN ", "PRIVATE KEY-----", "-----END ",
    "1.2.3.4 ", "2a01:4f8::1", "bc1q", "0x", "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", "v1.", "\u200b", "\uff14",
    "\u0430", "é", "한", "\u0301", "[REDACTED:PHONE]", "=", " = ", "\u00ad", "&#52", "%u0034", "\\064",
)  # fmt: skip


Part = tuple[str, str]
"""(kind, disguise): a maker's name, or a piece's text behind a quote; the disguise may be empty."""
Unit = tuple[Part, ...]


def text_of(unit: Unit, varied: bool, size: int = SIZE) -> str:
    """The unit repeated; `varied`: its values are drawn anew at every repetition."""
    source = random.Random(repr(unit))
    parts, length = [], 0
    once = "".join(_drawn(part, source) for part in unit) or "-"
    while length < size:
        said = "".join(_drawn(part, source) for part in unit) or "-" if varied else once
        parts.append(said)
        length += len(said)
    return "".join(parts)[:size]


def _drawn(part: Part, source: random.Random) -> str:
    kind, disguise = part
    if kind.startswith("'"):
        text = "".join(source.choice("0123456789") if "0" <= char <= "9" else char for char in kind[1:])
    else:
        text = MAKERS[kind](source)
    return DISGUISES[disguise](text) if disguise else text


def masking() -> Callable[[str], object]:
    """All that the sanitizer does with a text of a request: it is scanned and masked, and what was found is looked for
    in the same text once more, as if another message held it."""
    scanner, table, runs = Scanner(), actions(Sanitize(profile="reversible"), "requests"), 0

    def mask(text: str) -> None:
        nonlocal runs
        runs += 1  # a text that is known to be clean is not scanned
        masks, holder = Masks(Placeholders()), {"content": f"{text} {runs}"}
        SlotMasker(scanner, table, lambda *_: None, masks=masks).clean(TextSlot(holder, "content", "content"))
        KnownValues(masks.found).scan(text)

    return mask


def cost_ms(look: Callable[[str], object], text: str, runs: int = 1) -> float:
    best = 1e9
    for _ in range(runs):
        started = time.thread_time()
        look(text)
        best = min(best, time.thread_time() - started)
    return best * 1000


def _new_part(source: random.Random) -> Part:
    kind = source.choice(tuple(MAKERS)) if source.random() < 0.5 else "'" + source.choice(PIECES)
    return kind, source.choice(tuple(DISGUISES)) if source.random() < 0.25 else ""


def new_unit(source: random.Random) -> Unit:
    return tuple(_new_part(source) for _ in range(source.randint(1, 6)))


def mutated(unit: Unit, other: Unit, source: random.Random) -> Unit:
    """A neighbour of a unit: parts more, parts less, others in their place, or crossed with another unit."""
    place = source.randint(0, len(unit))
    rest = place + source.choice((0, 0, 1, 1, 2, 4))
    if source.random() < 0.2:
        middle: Unit = other[source.randint(0, len(other)) :]
    else:
        middle = (_new_part(source),) * source.choice((0, 1, 1, 1, 2, 4))
    return (unit[:place] + middle + unit[rest:])[:_MOST_PARTS] or new_unit(source)


def search(seconds: float, seed: int, kept: int = 20) -> list[tuple[float, float, Unit, bool]]:
    """(ms for SIZE characters, ms of the fixed loop, unit, varied) of the slowest found, slowest first."""
    look, source = masking(), random.Random(seed)
    best: list[tuple[Unit, bool]] = []
    for _ in range(_LINEAGES):
        found = _lineage(look, source, seconds / _LINEAGES, kept)
        best += sorted(found, key=found.__getitem__)[-kept:]
    slowest = [(*_cost_and_loop_ms(look, text_of(*each)), *each) for each in best]
    return sorted(slowest, key=lambda each: each[0] / each[1], reverse=True)[:kept]


def _cost_and_loop_ms(look: Callable[[str], object], text: str) -> tuple[float, float]:
    before = _fixed_loop_ms()
    cost = cost_ms(look, text, 2)
    return cost, (before + _fixed_loop_ms()) / 2


def _lineage(
    look: Callable[[str], object], source: random.Random, seconds: float, kept: int
) -> dict[tuple[Unit, bool], float]:
    """(unit, varied) -> ms, of a search that begins with nothing."""
    found: dict[tuple[Unit, bool], float] = {}
    stop = time.monotonic() + seconds
    best: list[tuple[Unit, bool]] = []
    while time.monotonic() < stop:
        unit = new_unit(source)
        if best and source.random() < 0.75:
            unit = mutated(source.choice(best)[0], source.choice(best)[0], source)
        key = unit, source.random() < 0.7
        if key in found:
            continue
        found[key] = cost_ms(look, text_of(*key, _TRIED_AT)) * SIZE / _TRIED_AT
        if len(found) % 20 == 0:
            best = sorted(found, key=found.__getitem__)[-kept:]
    return found


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    print(f"CPU, ms a text of {SIZE:,} characters; ms of a fixed loop of 10,000 steps meanwhile")
    for cost, loop, unit, varied in search(options.seconds, options.seed):
        said = " + ".join(f"{disguise}({kind!r})" if disguise else repr(kind) for kind, disguise in unit)
        print(f"{cost:8.1f} {loop:6.2f}  {'varied  ' if varied else 'repeated'}  {said}")


def _fixed_loop_ms() -> float:
    def loop(text: str) -> int:
        return sum(text[place : place + 3].isdigit() for place in range(10_000))

    return cost_ms(loop, "1" * 10_010, 3)


if __name__ == "__main__":
    main()
