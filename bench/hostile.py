"""What hostile and odd inputs cost: `python -m bench.hostile [--size N] [--only NAME …] [--pairs]`.

Prints for each reader of foreign content its dearest inputs, in CPU microseconds a byte (or a character), and how much
that changes when the input is four times as large: 1.0 is linear. `--pairs` times every pattern of Python's `re` that
the product has on all pairs of ASCII characters instead, which takes an hour; the suite takes pairs of the classes that
a pattern tells apart. Inputs come from `bench.hostile_inputs` and are the same every time.
"""

import argparse
import itertools
import re
from collections import deque
from collections.abc import Iterator

from bench.growth import FLOOR_S, grows, once_s
from bench.hostile_functions import READERS, Reader, answer
from bench.pattern_finder import AnyPattern, pattern_calls, reachable
from bench.pattern_strings import beginnings

_SIZE = 200_000
"""Characters of the larger input. Chosen: at half, costs that only appear in large inputs are missed; at double, a run
takes several minutes."""
_SHOWN = 3
"""Inputs printed for each reader."""
_ASCII = [chr(code) for code in range(128)]


def costs(reader: Reader, size: int) -> list[tuple[float, float, str]]:
    """(CPU µs a byte, its growth from a quarter of the size, the input's name) of each input, dearest first."""
    rows = []
    for kind, make in reader.inputs.items():
        small, large = make(size // 4), make(size)
        at_small = once_s(lambda value: answer(reader, value), small)
        at_large = once_s(lambda value: answer(reader, value), large)
        growth = at_large / max(at_small, FLOOR_S) / 4
        rows.append((at_large / size * 1e6, growth, kind))
    return sorted(rows, reverse=True)


def report(size: int, only: list[str]) -> Iterator[str]:
    """The lines of the table."""
    yield f"{'reader':24} {'µs a byte':>10} {'growth':>7}  input"
    for name, reader in READERS.items():
        if not only or name in only:
            for cost_us, growth, kind in costs(reader, size)[:_SHOWN]:
                yield f"{name:24} {cost_us:10.3f} {growth:7.2f}  {kind}"


def patterns() -> dict[str, AnyPattern]:
    """The patterns that Python's `re` runs, by where they are."""
    found = {each.where: each.pattern for each in reachable() if each.pattern is not None}
    literal = [call for call in pattern_calls() if call.source is not None and call.library == "re"]
    return found | {f"{call.module}:{call.line}": re.compile(call.source or "", call.flags) for call in literal}


def slow_pairs(pattern: AnyPattern) -> Iterator[str]:
    """Descriptions of the strings of repeated pairs on which the pattern is superlinear."""
    encode = isinstance(pattern.pattern, bytes)

    def search(text: str) -> None:
        deque(pattern.finditer(text.encode("latin-1") if encode else text), 0)  # type: ignore[arg-type]

    starts = ("", *beginnings(pattern)[-1:])
    for first, second, start in itertools.product(_ASCII, _ASCII, starts):
        unit = first if first == second else first + second
        found = grows(search, lambda size, unit=unit, start=start: start + unit * (size // len(unit)) + "\x01")  # type: ignore[misc]
        if found is not None:
            yield f"{start!r} + {unit!r}…: {found.times_s[-1] * 1000:.1f} ms, x{found.worst:.1f} a doubling"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="CPU time of hostile inputs")
    parser.add_argument("--size", type=int, default=_SIZE)
    parser.add_argument(
        "--only", nargs="*", default=[], help="readers or, with --pairs, parts of the names of patterns"
    )
    parser.add_argument("--pairs", action="store_true")
    options = parser.parse_args()
    if not options.pairs:
        for line in report(options.size, options.only):
            print(line, flush=True)
        return
    for where, pattern in patterns().items():
        if not options.only or any(part in where for part in options.only):
            slow = list(itertools.islice(slow_pairs(pattern), _SHOWN))
            print(f"{where}: {'; '.join(slow) or 'linear'}", flush=True)


if __name__ == "__main__":
    main()
