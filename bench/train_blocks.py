"""Trains the block model on labelled pages: gradient-boosted trees over the measures of gateway.engines.measures.

`python -m bench.train_blocks --data DIR [--write]` prints word F1 by page type in five-fold cross-validation (folds
are whole pages) and, with --write, stores the model trained on all pages. Needs numpy, which the product does not.
The pages are WCXB's (Murrough Foley, CC-BY-4.0).
"""

import argparse
import gzip
import os
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from bench.extract import f1, page_id, page_type, pages, wanted
from gateway.engines import block_model
from gateway.engines.charset import decode
from gateway.engines.content import decide, measured
from gateway.engines.dom import parse
from gateway.engines.measures import FEATURES
from gateway.engines.metadata import read_head

_BINS = 32


class Page:
    """Measures, labels and weights of one page's blocks."""

    def __init__(self, raw: dict[str, Any], folder: Path, depth: str) -> None:
        body = gzip.decompress((folder / f"{page_id(raw)}.html.gz").read_bytes())
        markup = decode(body, "text/html")
        root = parse(markup)
        head = read_head(root, str(raw["url"]))
        blocks, rows, _ = measured(root, markup, head, depth)
        self.kind, self.number = page_type(raw), page_id(raw)
        self.blocks = blocks
        self.rows = np.array(rows, dtype=float).reshape(len(blocks), len(FEATURES))
        self.bags = [Counter(word.lower() for word in block.words) for block in blocks]
        self.wanted = Counter(re.findall(r"\w+", wanted(raw).lower()))
        self.labels = np.array(_labels(blocks, wanted(raw)))
        sizes = np.array([len(block.words) for block in blocks], dtype=float)
        self.weights = np.sqrt(sizes) / np.sqrt(sizes).sum() if len(blocks) else sizes

    def f1(self, chances: Any, threshold: float) -> float:
        found: Counter[str] = Counter()
        for bag, chance in zip(self.bags, chances, strict=True):
            if chance >= threshold:
                found += bag
        return f1(found, self.wanted)[0]


def _labels(blocks: list[Any], text: str) -> list[float]:
    """1 where the block stands in the wanted text: by runs of three words, short blocks as a whole."""
    tokens = re.findall(r"\w+", text.lower())
    triples = set(zip(tokens, tokens[1:], tokens[2:], strict=False))
    joined = f" {' '.join(tokens)} "
    out = []
    for block in blocks:
        own = [word.lower() for word in block.words]
        if len(own) < 4:
            out.append(float(f" {' '.join(own)} " in joined))
        else:
            runs = list(zip(own, own[1:], own[2:], strict=False))
            out.append(sum(run in triples for run in runs) / len(runs))
    return out


class Booster:
    """Logistic gradient boosting on binned measures."""

    def __init__(self, rounds: int, depth: int, rate: float, seed: int = 7) -> None:
        self.rounds, self.depth, self.rate = rounds, depth, rate
        self.random = np.random.default_rng(seed)
        self.trees: list[Any] = []
        self.start = 0.0

    def fit(self, rows: Any, labels: Any, weights: Any) -> None:
        self.edges = [np.unique(np.quantile(column, np.linspace(0, 1, _BINS + 1)[1:-1])) for column in rows.T]
        binned = np.stack([np.searchsorted(e, c, side="left") for e, c in zip(self.edges, rows.T, strict=True)], 1)
        weights = weights / weights.mean()
        mean = float((labels * weights).sum() / weights.sum())
        self.start = float(np.log(mean / (1 - mean)))
        margin = np.full(len(rows), self.start)
        for _ in range(self.rounds):
            chance = 1 / (1 + np.exp(-margin))
            gradient, curvature = weights * (labels - chance), weights * chance * (1 - chance)
            take = self.random.random(len(rows)) < 0.6
            columns = self.random.permutation(rows.shape[1])[: rows.shape[1] // 2]
            tree = self._grow(binned, (gradient, curvature), np.flatnonzero(take), columns, self.depth)
            self.trees.append(tree)
            margin += _apply(tree, binned)

    def _grow(self, binned: Any, slopes: Any, members: Any, columns: Any, depth: int) -> Any:
        gradient, curvature = slopes[0][members], slopes[1][members]
        total_g, total_h = gradient.sum(), curvature.sum()
        best = (1e-3, None)
        if depth and len(members) > 80:
            for column in columns:
                bins = binned[members, column]
                g = np.cumsum(np.bincount(bins, gradient, _BINS + 1))[:-1]
                h = np.cumsum(np.bincount(bins, curvature, _BINS + 1))[:-1]
                ok = (h > 5) & (total_h - h > 5)
                gain = g**2 / (h + 5) + (total_g - g) ** 2 / (total_h - h + 5) - total_g**2 / (total_h + 5)
                gain = np.where(ok, gain, -1)
                at = int(gain.argmax())
                if gain[at] > best[0]:
                    best = (float(gain[at]), (int(column), at))
        if best[1] is None:
            return float(self.rate * total_g / (total_h + 5))
        column, at = best[1]
        left = binned[members, column] <= at
        return [
            column,
            at,
            self._grow(binned, slopes, members[left], columns, depth - 1),
            self._grow(binned, slopes, members[~left], columns, depth - 1),
        ]

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


def fitted(made: list[Page], rounds: int, depth: int, rate: float) -> Booster:
    booster = Booster(rounds, depth, rate)
    booster.fit(
        np.concatenate([page.rows for page in made]),
        np.concatenate([page.labels for page in made]),
        np.concatenate([page.weights for page in made]),
    )
    return booster


def validate(made: list[Page], options: argparse.Namespace) -> None:
    """Five folds of whole pages; F1 by type at several thresholds."""
    chances: dict[str, Any] = {}
    for fold in range(5):
        model = block_model.BlockModel(
            fitted(
                [p for at, p in enumerate(made) if at % 5 != fold], options.rounds, options.depth, options.rate
            ).export(FEATURES)
        )
        for page in (p for at, p in enumerate(made) if at % 5 == fold):
            chances[page.number] = model.chances(page.rows.tolist())
    for threshold in (0.0, 0.4, 0.5):
        by_type = defaultdict(list)
        for page in made:
            found = chances[page.number]
            if not threshold:
                found = [float(keep) for keep in decide(page.blocks, found)]
            by_type[page.kind].append(page.f1(found, threshold or 0.5))
        means = {kind: sum(values) / len(values) for kind, values in sorted(by_type.items())}
        shown = " ".join(f"{kind} {value:.3f}" for kind, value in means.items())
        name = f"threshold {threshold}" if threshold else "expected F1  "
        print(f"{name}: all {sum(means.values()) / len(means):.3f} | {shown}")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DATA_DIR", "../shared/data")))
    parser.add_argument("--mode", default="basic")
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--rate", type=float, default=0.08)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--no-validation", action="store_true")
    options = parser.parse_args(argv)
    folder = options.data / "extract"
    made = [page for page in (Page(raw, folder, options.mode) for raw in pages(folder)) if len(page.rows)]
    if not options.no_validation:
        validate(made, options)
    if options.write:
        model = fitted(made, options.rounds, options.depth, options.rate).export(FEATURES)
        target = Path(block_model.__file__).with_name(f"blocks_{options.mode}.json")
        target.write_bytes(orjson.dumps(model))
        print(f"written: {target.name}, {target.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
