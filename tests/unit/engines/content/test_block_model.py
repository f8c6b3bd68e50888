"""The block model gives the figures of the naive walk."""

import math
import random
from typing import Any

import pytest

from gateway.engines.content import models
from gateway.engines.content.models import FEATURES, BlockModel


def naive_margin(data: dict[str, Any], row: list[float]) -> float:
    leaves: list[float] = []
    for tree in data["trees"]:
        while isinstance(tree, list):
            feature, edge, at_most, above = tree
            tree = at_most if row[feature] <= edge else above
        leaves.append(tree)
    return sum(leaves, data["start"])


def random_tree(source: random.Random, depth: int) -> Any:
    if depth == 0 or source.random() < 0.1:
        return round(source.uniform(-1, 1), 4)
    edge = round(source.choice((0.0, 0.5, source.uniform(-2, 2))), 5)
    return [source.randrange(len(FEATURES)), edge, *(random_tree(source, depth - 1) for _ in range(2))]


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 1, 2, 31, 300])
@pytest.mark.parametrize("seed", range(4))
def test_all_blocks_at_once_give_what_a_walk_of_each_tree_gives(count: int, seed: int) -> None:
    source = random.Random(seed)
    data = {"features": list(FEATURES), "start": -0.1889, "trees": [random_tree(source, 5) for _ in range(40)]}
    constant, flags = set(source.sample(range(len(FEATURES)), 40)), set(source.sample(range(len(FEATURES)), 40))
    values = (-1, 0, 1, 0.0, 0.5, 1.0)

    def value(at: int) -> float:
        if at in flags:
            return source.randrange(2)
        return 0.25 if at in constant else source.choice((*values, source.uniform(-3, 3)))

    rows = [[value(at) for at in range(len(FEATURES))] for _ in range(count)]
    naive = [naive_margin(data, row) for row in rows]
    model = BlockModel(data)
    made: list[list[float]] = [[row[at] for row in rows] for at in range(len(FEATURES))]
    columns = [bytes(map(int, column)) if at in flags else column for at, column in enumerate(made)]
    assert model.margins(columns) == pytest.approx(naive, abs=1e-9)
    assert model.probabilities(columns) == pytest.approx([1 / (1 + math.exp(-margin)) for margin in naive], abs=1e-9)


def test_the_shipped_model_loads_and_tells_blocks_apart() -> None:
    model = models.load_model()
    assert model is not None
    source = random.Random(1)
    probabilities = model.probabilities([[source.uniform(0, 5) for _ in range(50)] for _ in FEATURES])
    assert all(0 < probability < 1 for probability in probabilities)
    assert len(set(probabilities)) > 10


@pytest.mark.parametrize(
    ("trees", "words"),
    [
        ([[0, float(edge), 0.1, 0.2] for edge in range(300)], "more than 255 edges"),
        ([[0, 1.0, -3.0, 3.5536]], r"differ by more than 6\.5535"),
    ],
)
def test_a_model_whose_edges_or_leaves_do_not_fit_into_bytes_is_refused(trees: list[Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        BlockModel({"features": list(FEATURES), "start": 0.0, "trees": trees})
    BlockModel({"features": list(FEATURES), "start": 0.0, "trees": [[0, 1.0, -3.0, 3.5535]]})
