"""The block model: boosted decision trees that tell how likely a block of text is content.

Data, not code: blocks_basic.json and blocks_advanced.json, trained by bench/train_blocks.py. Runs in the parsing
processes.
"""

import functools
import math
from collections.abc import Callable
from importlib import resources
from typing import Any

import orjson

from gateway.domain import Json
from gateway.engines.content.block_features import FEATURES


class BlockModel:
    """Trees are nested lists `[measure, edge, at most edge, above]` with numbers as leaves."""

    def __init__(self, data: Json) -> None:
        if tuple(data["features"]) != FEATURES:
            raise ValueError("the block model was trained on other measures; train it anew")
        terms = "+".join(_expression(tree) for tree in data["trees"])
        # Compiled, the trees run four times as fast as walked; every part of the source is a number made here.
        self._margin: Callable[[list[float]], float] = eval(f"lambda r: {float(data['start'])!r}+{terms}")  # noqa: S307

    def chances(self, rows: list[list[float]]) -> list[float]:
        """For each block, 0 to 1."""
        margin, exp = self._margin, math.exp
        return [1 / (1 + exp(-margin(row))) for row in rows]


def _expression(tree: Any) -> str:
    """A tree as a Python expression over the row `r`."""
    if isinstance(tree, list):
        measure, edge, low, high = tree
        return f"({_expression(low)} if r[{int(measure)}]<={float(edge)!r} else {_expression(high)})"
    return f"({float(tree)!r})"


_LOWEST, _HIGHEST = 0.3, 0.5


def chosen(chances: list[float], sizes: list[int]) -> list[bool]:
    """The blocks to keep: those whose expected word F1 as a whole is greatest, within reason."""
    order = sorted(range(len(chances)), key=lambda at: -chances[at])
    wanted = sum(chance * size for chance, size in zip(chances, sizes, strict=True))
    best, edge = 0.0, _HIGHEST
    right = taken = 0.0
    for at in order:
        right += chances[at] * sizes[at]
        taken += sizes[at]
        score = right / (taken + wanted)
        if score >= best:
            best, edge = score, chances[at]
    edge = min(max(edge, _LOWEST), _HIGHEST)
    return [chance >= edge for chance in chances]


@functools.cache
def load(depth: str) -> BlockModel | None:
    """The model for an extract depth; None when the file is not there."""
    path = resources.files("gateway.engines.content").joinpath(f"blocks_{depth}.json")
    return BlockModel(orjson.loads(path.read_bytes())) if path.is_file() else None
