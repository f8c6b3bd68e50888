"""Values in everyday sentences of seven languages, and what only looks like them.

Both files were written by somebody who had not seen the detectors, and were committed before the first run. Nothing is
mended for a single one of their sentences, so the figures here may only be raised by a general rule.
"""

import json
from typing import Any

from bench.masks import Masks
from tests.support.paths import GOLDEN

FOUND, WHOLE, TOUCHED = 161, 64, 1
REQUESTS, RESPONSES = Masks("requests"), Masks("responses")


def entries(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((GOLDEN / "sanitize" / name).read_text(encoding="utf-8"))
    return loaded


def is_found(text: str, value: str, spans: list[tuple[int, int]]) -> bool:
    """Whether four fifths of each of its places are covered."""
    places = [at for at in range(len(text)) if text.startswith(value, at)]
    covered = [sum(any(low <= at + n < high for low, high in spans) for n in range(len(value))) for at in places]
    return min(covered) >= 0.8 * len(value)


def test_as_many_values_as_ever_are_found() -> None:
    found = []
    for each in entries("everyday.json"):
        spans = [(low, high) for low, high, *_ in REQUESTS.spans(each["text"])]
        found.append([is_found(each["text"], value["value"], spans) for value in each["values"]])
    assert len(found) == 100 and sum(map(len, found)) == 211
    assert sum(map(sum, found)) >= FOUND and sum(map(all, found)) >= WHOLE


def test_what_looks_alike_stays() -> None:
    texts = [each["text"] for each in entries("lookalikes.json")]
    touched = [text for text in texts if any(span[3] for masks in (REQUESTS, RESPONSES) for span in masks.spans(text))]
    assert len(texts) == 200 and len(touched) <= TOUCHED
