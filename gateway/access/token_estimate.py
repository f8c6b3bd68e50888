"""Estimates the tokens of a request before it is sent, for budgets."""

from collections.abc import Iterator
from typing import Any

_CHARS_A_TOKEN = 4
"""Characters of a token in the estimate of a request's input, as for usage that an upstream does not report."""

_IMAGE_TOKENS = 1000
"""Estimate for an image in a request."""


def token_estimate(body: Any) -> int:
    """Tokens of all text in a decoded body, at least 1; an image counts as _IMAGE_TOKENS."""
    characters = images = 0
    for text in _texts(body):
        if text.startswith("data:"):
            images += 1
        else:
            characters += len(text)
    return characters // _CHARS_A_TOKEN + images * _IMAGE_TOKENS + 1


def _texts(body: Any) -> Iterator[str]:
    """Every string in a decoded body, without recursion."""
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
