"""Classifies a page's type from its signals: softmax regression whose weights are data (page_types.json, our format).

Runs in the parsing processes. Trained by bench/train_blocks.py. Knows no site, but believes the `generator` named in a
page's head if it is a program for documentation or forums.
"""

import functools
import math
import re
from importlib import resources

import orjson

from gateway.domain import Json
from gateway.engines.content.page_features import SIGNALS
from gateway.engines.html.metadata import Head

TYPES = ("article", "collection", "documentation", "forum", "listing", "product", "service")
_SURE = 0.95
"""Probability of the type that a generator implies. Chosen: above every threshold of `selection`, below 1 as sites also
put other pages into such programs. At half it decides nothing; 1 is its bound."""
_GENERATOR_CHARS = 200
"""Start of the generator's text that is searched: names come first."""
_GENERATORS = (
    (
        "documentation",
        re.compile(
            r"sphinx|docutils|docbook|asciidoc|doxygen|javadoc|rustdoc|mkdocs|docusaurus|vitepress|gitbook|antora|"
            r"texinfo|makeinfo|texi2|latex2html|jsdoc|typedoc|pdoc|yard|hevea|mandoc|man2html|docsify|rdoc|epydoc|"
            r"groff|haddock",
            re.IGNORECASE,
        ),
    ),
    (
        "forum",
        re.compile(
            r"discourse|vbulletin|phpbb|xenforo|mybb|simple machines|flarum|nodebb|vanilla|bbpress", re.IGNORECASE
        ),
    ),
)


class PageTypes:
    """Softmax regression. `data`: `signals` (their names), `mean` and `scale` of each, and `weights`: for each type one
    for each signal, the bias last. Raises ValueError when signals or types are others than SIGNALS and TYPES."""

    def __init__(self, data: Json) -> None:
        if tuple(data["signals"]) != SIGNALS or tuple(data["weights"]) != TYPES:
            raise ValueError("the page types were trained on other signals: train them again")
        self._scaled = list(zip(data["mean"], data["scale"], strict=True))
        self._weights: dict[str, list[float]] = data["weights"]

    def probabilities(self, signals: list[float], head: Head) -> dict[str, float]:
        """The probability of each type in TYPES; they sum to 1. `signals`: in the order of SIGNALS."""
        row = [(value - mean) / scale for value, (mean, scale) in zip(signals, self._scaled, strict=True)] + [1.0]
        margins = {kind: sum(map(float.__mul__, row, weights)) for kind, weights in self._weights.items()}
        top = max(margins.values())
        powers = {kind: math.exp(margin - top) for kind, margin in margins.items()}
        total = sum(powers.values())
        return _believe_generator({kind: power / total for kind, power in powers.items()}, head)


def _believe_generator(probabilities: dict[str, float], head: Head) -> dict[str, float]:
    generator = head.meta.get("generator", "")[:_GENERATOR_CHARS]
    for kind, pattern in _GENERATORS:
        if generator and pattern.search(generator):
            rest = 1 - probabilities[kind] or 1.0
            return {
                name: max(probability, _SURE) if name == kind else min(1.0, (1 - _SURE) / rest) * probability
                for name, probability in probabilities.items()
            }
    return probabilities


def likeliest(probabilities: dict[str, float]) -> str:
    """The type of the greatest probability."""
    return max(probabilities, key=lambda kind: probabilities[kind])


@functools.cache
def load() -> PageTypes | None:
    """The shipped classifier, read once; None when its file is missing."""
    path = resources.files("gateway.engines.content").joinpath("page_types.json")
    return PageTypes(orjson.loads(path.read_bytes())) if path.is_file() else None
