"""The block model: boosted decision trees that tell how likely a block of text is content.

Data, not code: blocks_basic.json and blocks_advanced.json, trained by bench/train_blocks.py. Runs in the parsing
processes.
"""

import functools
import math
from importlib import resources
from typing import Any

import orjson

from gateway.engines.measures import FEATURES
from gateway.model import Json


class BlockModel:
    """Trees are nested lists `[measure, edge, at most edge, above]` with numbers as leaves."""

    def __init__(self, data: Json) -> None:
        if tuple(data["features"]) != FEATURES:
            raise ValueError("the block model was trained on other measures; train it anew")
        self._start: float = data["start"]
        self._trees: list[Any] = data["trees"]

    def chances(self, rows: list[list[float]]) -> list[float]:
        """For each block, 0 to 1."""
        out: list[float] = []
        for row in rows:
            margin = self._start
            for tree in self._trees:
                node = tree
                while type(node) is list:
                    node = node[2] if row[node[0]] <= node[1] else node[3]
                margin += node
            out.append(1 / (1 + math.exp(-margin)))
        return out


def chosen(chances: list[float], sizes: list[int]) -> list[bool]:
    """The blocks to keep: those whose expected word F1 as a whole is greatest."""
    order = sorted(range(len(chances)), key=lambda at: -chances[at])
    wanted = sum(chance * size for chance, size in zip(chances, sizes, strict=True))
    best, count = 0.0, 0
    right = taken = 0.0
    for rank, at in enumerate(order, 1):
        right += chances[at] * sizes[at]
        taken += sizes[at]
        score = right / (taken + wanted)
        if score >= best:
            best, count = score, rank
    keep = [False] * len(chances)
    for at in order[:count]:
        keep[at] = True
    return keep


@functools.cache
def load(depth: str) -> BlockModel | None:
    """The model for an extract depth; None when the file is not there."""
    path = resources.files("gateway.engines").joinpath(f"blocks_{depth}.json")
    return BlockModel(orjson.loads(path.read_bytes())) if path.is_file() else None
