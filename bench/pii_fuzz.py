"""Looks for texts that the detectors are slow on: `python -m bench.pii_fuzz [--seconds N] [--seed N]`.

A text of 100,000 characters is built by repeating a short seed; its digits may change at every repetition,
so that nothing can be remembered from one to the next. Seeds grow by mutation from the pieces that detectors look for;
the slowest survive. CPU times are of one thread; the worst ones are measured again at the end, the best of two runs.
"""

import argparse
import random
import time
from collections.abc import Callable

from gateway.sanitize.scanner import Scanner

SIZE = 100_000
_TRIED_AT = 20_000
PIECES = (
    "1", "12", "123", "1234", "123456", "123456789", "4111111111111111", "123-45-6789", "0", "00", "+", "+44 ",
    "+1 ", " ", "  ", "\n", "\t", ".", "-", "/", ":", ",", ";", "=", "@", "%", "&", "\\", "?", "#", "_", "(", ")",
    "[", "]", "{", "}", "<", ">", '"', "'", "`", "|", "*", "$", "!", "~", "a", "b1", "abc", "Ab1", "xyz ", "word ",
    "tel ", "call ", "phone", "fax", "number is ", "card ", "visa ", "ssn ", "dni ", "id number ", "nif ",
    "cedula ", "pin ", "tin ", "cc ", "password", "password=", "key: ", "token ", "secret=", "api_key=", "bearer ",
    "is ", "Authorization: ", " -u ", "basic ", "http://", "https://x.y/", "://", "a:b@", "www.", ".com",
    "jane@x.org", " at ", " dot ", "[at]", "[dot]", " @ ", "(at)", "%41", "%2e", "&#65;", "&amp;", "\\u0041",
    "\\x41", "=41", "QUJD", "YWJjZGVmZ2hpamtsbW5vcA==", "6162636465666768", "4 1 1 1 ", "a b c ", "a.b.", "GB82",
    "GB82 WEST ", "DE89", "AKIA", "ghp_", "sk-", "eyJ", "SG.", "-----BEGIN ", "PRIVATE KEY-----", "-----END ",
    "1.2.3.4 ", "2a01:4f8::1", "bc1q", "0x", "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", "v1.", "\u200b", "\uff14",
    "\u0430", "é", "한", "\u0301", "[REDACTED:PHONE]",
)  # fmt: skip


def text_of(seed: str, varied: bool, size: int = SIZE) -> str:
    """The seed repeated; `varied`: its digits are drawn anew at every repetition."""
    if not varied:
        return (seed * (size // len(seed) + 1))[:size]
    source, parts, length = random.Random(seed), [], 0
    while length < size:
        parts.append("".join(_another(char, source) for char in seed))
        length += len(seed)
    return "".join(parts)[:size]


def _another(char: str, source: random.Random) -> str:
    return source.choice("0123456789") if char in "0123456789" else char


def cost_ms(look: Callable[[str], object], text: str, runs: int = 1) -> float:
    best = 1e9
    for _ in range(runs):
        started = time.thread_time()
        look(text)
        best = min(best, time.thread_time() - started)
    return best * 1000


def mutated(seed: str, source: random.Random) -> str:
    """A neighbour of a seed: a piece more, a piece less, or another one in its place."""
    place = source.randint(0, len(seed))
    rest = place + source.choice((0, 0, 0, 1, 2, 5))
    piece = source.choice(PIECES) * source.choice((1, 1, 1, 2, 4)) if source.random() < 0.8 else ""
    return (seed[:place] + piece + seed[rest:])[:160] or source.choice(PIECES)


def search(seconds: float, seed: int, kept: int = 20) -> list[tuple[float, str, bool]]:
    """(ms for SIZE characters, seed, varied) of the slowest found, slowest first."""
    look, source = Scanner().look, random.Random(seed)
    found: dict[tuple[str, bool], float] = {}
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        if found and source.random() < 0.7:
            unit = mutated(source.choice(sorted(found, key=found.__getitem__)[-kept:])[0], source)
        else:
            unit = "".join(source.choice(PIECES) for _ in range(source.randint(1, 4)))
        key = unit, source.random() < 0.5
        if key in found:
            continue
        found[key] = cost_ms(look, text_of(*key, _TRIED_AT)) * SIZE / _TRIED_AT
        if len(found) > 50 * kept:
            found = {each: found[each] for each in sorted(found, key=found.__getitem__)[-kept:]}
    worst = sorted(found, key=found.__getitem__)[-kept:]
    return sorted(((cost_ms(look, text_of(*each), 2), *each) for each in worst), reverse=True)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    print(f"CPU, ms a text of {SIZE:,} characters")
    for cost, unit, varied in search(options.seconds, options.seed):
        print(f"{cost:8.1f}  {'varied  ' if varied else 'repeated'}  {unit!r}")


if __name__ == "__main__":
    main()
