"""Trains the block model (boosted trees over features) and the page type classifier (softmax over signals).

`python -m bench.train_blocks --data DIR` writes both beside gateway.engines.content, trained on all pages; `--part
development` leaves out the third that is held out (bench.labelled). `python -m bench.extract --cross-validate` tells
the quality on pages not seen, and so does its `--held-out`, which trains on the development part. Needs numpy, which
the product does not. The pages are WCXB's (Murrough Foley, CC-BY-4.0).
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from bench.labelled import PARTS, Page, read
from gateway.domain import Json
from gateway.engines.content import models
from gateway.engines.content.models import FEATURES, SIGNALS, TYPES

_BINS = 32
"""Bins of a feature, so 31 edges at most: block_model allows 255. Chosen: quantiles of some ten thousand blocks."""


class _Node:
    """The members of a node: `cells` (for each member and column, its bin among the bins of all columns), `slopes`
    (gradient and curvature of each member), and their `sums` by cell, counted unless they are given."""

    def __init__(self, cells: Any, slopes: Any, sums: Any) -> None:
        self.cells, self.slopes = cells, slopes
        self.sums = self._count() if sums is None else sums

    def _count(self) -> Any:
        flat, columns = self.cells.ravel(), self.cells.shape[1]
        size = columns * (_BINS + 1)
        return np.stack([np.bincount(flat, np.repeat(slope, columns), size) for slope in self.slopes])

    def split(self, is_left: Any) -> tuple["_Node", "_Node"]:
        """Left and right child. Only the smaller one is counted: the other has what it leaves."""
        sides = (is_left, ~is_left)
        small = int(is_left.sum() * 2 > len(is_left))
        made = _Node(self.cells[sides[small]], self.slopes[:, sides[small]], None)
        rest = _Node(self.cells[sides[1 - small]], self.slopes[:, sides[1 - small]], self.sums - made.sums)
        return (rest, made) if small else (made, rest)


class Booster:
    """Logistic gradient boosting on binned features."""

    def __init__(self, rounds: int, depth: int, rate: float, seed: int = 7) -> None:
        self.rounds, self.depth, self.rate = rounds, depth, rate
        self.random = np.random.default_rng(seed)
        self.trees: list[Any] = []
        self.start = 0.0

    def fit(self, rows: Any, labels: Any, weights: Any) -> None:
        self.edges = [np.unique(np.quantile(column, np.linspace(0, 1, _BINS + 1)[1:-1])) for column in rows.T]
        binned = np.stack([np.searchsorted(e, c, side="left") for e, c in zip(self.edges, rows.T, strict=True)], 1)
        binned = binned.astype(np.int32)
        weights = weights / weights.mean()
        mean = float((labels * weights).sum() / weights.sum())
        self.start = float(np.log(mean / (1 - mean)))
        margin = np.full(len(rows), self.start)
        for _ in range(self.rounds):
            probability = 1 / (1 + np.exp(-margin))
            gradient, curvature = weights * (labels - probability), weights * probability * (1 - probability)
            members = np.flatnonzero(self.random.random(len(rows)) < 0.6)
            columns = self.random.permutation(rows.shape[1])[: rows.shape[1] // 2]
            width = _BINS + 1
            cells = binned[np.ix_(members, columns)] + np.arange(len(columns)) * width
            slopes = np.stack([gradient[members], curvature[members]])
            tree = self._grow(_Node(cells, slopes, None), columns, self.depth)
            self.trees.append(tree)
            margin += _apply(tree, binned)

    def _grow(self, node: "_Node", columns: Any, depth: int) -> Any:
        total_g, total_h = node.slopes.sum(1)
        if not depth or len(node.cells) <= 80:
            return float(self.rate * total_g / (total_h + 5))
        g, h = (sums.reshape(-1, _BINS + 1).cumsum(1)[:, :-1] for sums in node.sums)
        gain = g**2 / (h + 5) + (total_g - g) ** 2 / (total_h - h + 5) - total_g**2 / (total_h + 5)
        gain[(h <= 5) | (total_h - h <= 5)] = -1
        best = np.unravel_index(int(gain.argmax()), gain.shape)
        if gain[best] <= 1e-3:
            return float(self.rate * total_g / (total_h + 5))
        at = int(best[1])
        left, right = node.split(node.cells[:, best[0]] <= best[0] * (_BINS + 1) + at)
        return [int(columns[best[0]]), at, self._grow(left, columns, depth - 1), self._grow(right, columns, depth - 1)]

    def export(self, names: tuple[str, ...]) -> dict[str, Any]:
        def node(tree: Any) -> Any:
            if isinstance(tree, float):
                return round(tree, 4)
            column, at, left, right = tree
            edges = self.edges[column]
            edge = float(edges[min(at, len(edges) - 1)])
            return [column, round(edge, 5), node(left), node(right)]

        return {"features": list(names), "start": round(self.start, 4), "trees": [node(tree) for tree in self.trees]}


def _apply(tree: Any, binned: Any) -> Any:
    if isinstance(tree, float):
        return np.full(len(binned), tree)
    column, at, left, right = tree
    return np.where(binned[:, column] <= at, _apply(left, binned), _apply(right, binned))


def block_data(made: Sequence[Page]) -> Json:
    """The block model trained on these pages, as stored."""
    pages = [page for page in made if page.size]
    booster = Booster(rounds=120, depth=5, rate=0.08)
    booster.fit(
        np.concatenate([np.array(list(map(list, page.measured.columns))).T for page in pages]),
        np.concatenate([np.array(page.labels) for page in pages]),
        np.concatenate([_weights(page) for page in pages]),
    )
    return booster.export(FEATURES)


def _weights(page: Page) -> Any:
    """Every page weighs the same, whatever its length."""
    roots = np.sqrt(np.array([len(block.words) for block in page.measured.blocks], dtype=float))
    return roots / roots.sum()


def type_data(made: Sequence[Page], steps: int = 600, pull: float = 0.05, rate: float = 0.1) -> Json:
    """The page type classifier trained on these pages, as stored: softmax regression with its weights held small."""
    pages = [page for page in made if page.size]
    rows = np.array([page.measured.signals for page in pages])
    truth = np.array([[float(page.kind == kind) for kind in TYPES] for page in pages])
    mean, scale = rows.mean(0), rows.std(0) + 1e-3
    scaled = np.c_[(rows - mean) / scale, np.ones(len(rows))]
    weights = np.zeros((scaled.shape[1], len(TYPES)))
    momentum = np.zeros_like(weights)
    for _ in range(steps):
        powers = np.exp(scaled @ weights - (scaled @ weights).max(1, keepdims=True))
        slope = scaled.T @ (powers / powers.sum(1, keepdims=True) - truth) / len(rows)
        slope[:-1] += pull * weights[:-1]
        momentum = 0.9 * momentum + slope
        weights -= rate * momentum
    return {
        "signals": list(SIGNALS),
        "mean": [round(float(value), 5) for value in mean],
        "scale": [round(float(value), 5) for value in scale],
        "weights": {kind: [round(float(w), 4) for w in weights[:, at]] for at, kind in enumerate(TYPES)},
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DATA_DIR", "../shared/data")))
    parser.add_argument("--part", choices=PARTS, default="all", help="of the pages, by a hash of their number")
    options = parser.parse_args(argv)
    made = read(options.data / "extract", part=options.part, measure=True)
    label = f"{len(made)} pages of WCXB ({options.part})"
    _write(Path(models.__file__).with_name("blocks.json"), block_data(made), label)
    _write(Path(models.__file__).with_name("page_types.json"), type_data(made), label)
    return 0


def _write(target: Path, data: Json, label: str) -> None:
    target.write_bytes(orjson.dumps({"trained_on": label, **data}))
    print(f"written: {target.name}, {target.stat().st_size} bytes, trained on {label}")


if __name__ == "__main__":
    raise SystemExit(main())
