"""The block model: boosted decision trees that give the probability that a block of text is content.

The model is data, blocks.json, trained by bench/train_blocks.py. Its format is ours.
Knows neither elements nor page types. Runs in the parsing processes.

The naive form of the model walks every tree for every block:

    margin = start
    for tree in trees:
        while tree is a list [feature, edge, at_most, above]:
            tree = at_most if row[feature] <= edge else above
        margin += tree

The trees see all blocks of a page at once instead, which takes a third less time than that walk over flat lists (18
pages of bench/extract.py's data, 4,727 blocks: 90 ms against 145 ms). A set of blocks is one integer with a byte for
each block, 1 for a member. A split then is one bitwise `and` for the whole page, and the sum over the leaves of `set x
leaf number` holds the number of each block's leaf in its byte. Two translations make of these bytes the leaves' margins
in whole units, low and high byte, and the trees are added up as integers with four bytes for each block: twice as fast
as adding floats block by block. Margins have four decimals, so that nothing is lost (tests/unit/engines/content).
"""

import functools
import math
import struct
from bisect import bisect_left
from collections.abc import Sequence
from importlib import resources
from itertools import repeat
from typing import Any

import orjson

from gateway.domain import Json
from gateway.engines.content.block_features import FEATURES, Column

_MAX_EDGES = 255
"""Edges of one feature and leaves of one tree: their numbers must fit a byte. Training makes 31 edges and 32 leaves."""
_UNITS = 10_000
"""Units of a margin: training writes four decimals."""
_MAX_UNITS = 0xFFFF
"""Units by which the leaves of one tree may differ: two bytes."""
_LANE = 4
"""Bytes of a block's sum: 65,536 trees of the greatest leaves fit."""
_AT_MOST = tuple(bytes(number <= edge for number in range(256)) for edge in range(_MAX_EDGES))
"""For each edge number, a translation table: edge numbers up to it become 1, those above it 0."""
LOWEST_LIMIT, _HIGHEST_LIMIT = 0.3, 0.5
"""Bounds of the probability from which a block is kept. Chosen: from 0.5 a block is more likely content than not,
and is always kept. Half of 0.3 would keep blocks that are five times as likely furniture; its double is above 0.5.
"""

_Node = tuple[int, Any, Any] | int
"""A split (number of its feature and edge, subtree at most the edge, subtree above it) or the number of a leaf."""


class BlockModel:
    """`data` has `features` (their names), `start` (the margin before the first tree) and `trees`: nested lists
    `[feature, edge, at_most, above]` with margins of at most four decimals as leaves. Raises ValueError when `features`
    are not FEATURES, and for a model that does not fit its bytes."""

    def __init__(self, data: Json) -> None:
        if tuple(data["features"]) != FEATURES:
            raise ValueError("the block model was trained on other features: train it again")
        self._start = float(data["start"])
        edges: dict[int, set[float]] = {}
        for tree in data["trees"]:
            _collect_edges(tree, edges)
        self._edges = {feature: sorted(edges[feature]) for feature in sorted(edges)}
        splits = [(feature, edge) for feature, ordered in self._edges.items() for edge in ordered]
        numbers = {split: number for number, split in enumerate(splits)}
        self._trees: list[tuple[_Node, bytes, bytes]] = []
        self._lowest = 0
        most = max(map(len, self._edges.values()), default=0)
        for tree in data["trees"]:
            leaves: list[float] = []
            numbered = _numbered(tree, numbers, leaves)
            most = max(most, len(leaves))
            if most > _MAX_EDGES:
                message = f"the block model has more than {_MAX_EDGES} edges of one feature or leaves of one tree"
                raise ValueError(message)
            units = [round(leaf * _UNITS) for leaf in leaves]
            lowest = min(units)
            self._lowest += lowest
            self._trees.append((numbered, *_bytes_of([unit - lowest for unit in units])))

    def probabilities(self, columns: Sequence[Column]) -> list[float]:
        """For each block, 0 to 1. `columns`: for each of FEATURES its values, one for each block."""
        exp = math.exp
        return [1 / (1 + exp(-margin)) for margin in self.margins(columns)]

    def margins(self, columns: Sequence[Column]) -> list[float]:
        """For each block the start plus its leaf of every tree, the logarithm of its odds. See the module's text."""
        count = len(columns[0])
        everyone = int.from_bytes(b"\x01" * count, "little")
        sets = self._split_sets(columns, everyone)
        lanes, total = bytearray(_LANE * count), 0
        for tree, low, high in self._trees:
            leaves = _leaf_numbers(tree, everyone, sets).to_bytes(count, "little")
            lanes[::_LANE] = leaves.translate(low)
            lanes[1::_LANE] = leaves.translate(high)
            total += int.from_bytes(lanes, "little")
        sums = struct.unpack(f"<{count}I", total.to_bytes(len(lanes), "little"))
        return [self._start + (self._lowest + units) / _UNITS for units in sums]

    def _split_sets(self, columns: Sequence[Column], everyone: int) -> list[int]:
        """For each split the set of blocks whose feature is at most the edge."""
        sets: list[int] = []
        for feature, edges in self._edges.items():
            column = columns[feature]
            if isinstance(column, bytes):
                passed = column.translate(bytes([bisect_left(edges, 0), bisect_left(edges, 1)]).ljust(256))
            elif column and column.count(column[0]) == len(column):  # the page's features are the same for all blocks
                sets += [everyone if column[0] <= edge else 0 for edge in edges]
                continue
            else:
                passed = bytes(map(bisect_left, repeat(edges), column))  # for each block, how many edges lie below
            sets += [int.from_bytes(passed.translate(table), "little") for table in _AT_MOST[: len(edges)]]
        return sets


def _bytes_of(units: list[int]) -> tuple[bytes, bytes]:
    """The low and the high byte of each leaf, as tables of translation. Raises ValueError above _MAX_UNITS."""
    if max(units) > _MAX_UNITS:
        raise ValueError(f"leaves of one tree of the block model differ by more than {_MAX_UNITS / _UNITS}")
    return bytes(unit & 0xFF for unit in units).ljust(256), bytes(unit >> 8 for unit in units).ljust(256)


def _collect_edges(tree: Any, edges: dict[int, set[float]]) -> None:
    if isinstance(tree, list):
        edges.setdefault(int(tree[0]), set()).add(float(tree[1]))
        _collect_edges(tree[2], edges)
        _collect_edges(tree[3], edges)


def _numbered(tree: Any, numbers: dict[tuple[int, float], int], leaves: list[float]) -> _Node:
    """The tree with its splits and leaves replaced by their numbers; appends its leaves."""
    if isinstance(tree, list):
        split = numbers[int(tree[0]), float(tree[1])]
        return split, _numbered(tree[2], numbers, leaves), _numbered(tree[3], numbers, leaves)
    leaves.append(float(tree))
    return len(leaves) - 1


def _leaf_numbers(node: _Node, members: int, sets: list[int]) -> int:
    """The number of each member's leaf, a byte for each block, 0 for blocks that are no members."""
    if isinstance(node, int):
        return members * node
    split, at_most, above = node
    low = members & sets[split]
    if low == members:
        return _leaf_numbers(at_most, members, sets)
    if not low:
        return _leaf_numbers(above, members, sets)
    return _leaf_numbers(at_most, low, sets) + _leaf_numbers(above, members ^ low, sets)


def keep_likely(probabilities: Sequence[float], sizes: Sequence[int], lowest: float = LOWEST_LIMIT) -> list[bool]:
    """Which blocks to keep: those from the probability up at which the expected F1 of their words is greatest.

    `sizes`: words of each block. The limit lies between `lowest` and _HIGHEST_LIMIT.
    """
    order = sorted(range(len(probabilities)), key=lambda at: -probabilities[at])
    expected = sum(probability * size for probability, size in zip(probabilities, sizes, strict=True))
    best, limit = 0.0, _HIGHEST_LIMIT
    right = total = 0.0
    for at in order:
        right += probabilities[at] * sizes[at]
        total += sizes[at]
        score = right / (total + expected)
        if score >= best:
            best, limit = score, probabilities[at]
    limit = min(max(limit, lowest), _HIGHEST_LIMIT)
    return [probability >= limit for probability in probabilities]


@functools.cache
def load() -> BlockModel | None:
    """The shipped model, read once; None when its file is missing."""
    path = resources.files("gateway.engines.content").joinpath("blocks.json")
    return BlockModel(orjson.loads(path.read_bytes())) if path.is_file() else None
