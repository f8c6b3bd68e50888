"""What hostile and odd inputs cost: `python -m bench.hostile [--size N] [--only NAME …]`.

Prints for each reader of foreign content its dearest inputs, in CPU microseconds a byte (or a character), and how much
that changes when the input is four times as large: 1.0 is linear. Inputs come from `bench.hostile_inputs` and are the
same every time.
"""

import argparse
from collections.abc import Iterator

from bench.growth import FLOOR_S, once_s
from bench.hostile_functions import MORE_READERS, READERS, Reader, answer

_SIZE = 200_000
"""Characters of the larger input. Chosen: at half, costs that only appear in large inputs are missed; at double, a run
takes several minutes."""
_SHOWN = 3
"""Inputs printed for each reader."""


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
    for name, reader in {**READERS, **MORE_READERS}.items():
        if not only or name in only:
            for cost_us, growth, kind in costs(reader, size)[:_SHOWN]:
                yield f"{name:24} {cost_us:10.3f} {growth:7.2f}  {kind}"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="CPU time of hostile inputs")
    parser.add_argument("--size", type=int, default=_SIZE)
    parser.add_argument("--only", nargs="*", default=[], help="names of readers")
    options = parser.parse_args()
    for line in report(options.size, options.only):
        print(line, flush=True)


if __name__ == "__main__":
    main()
