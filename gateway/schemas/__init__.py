"""JSON Schema files: found, loaded, and checked against.

`jsonschema-rs` decides (20 µs on a 100 KB body); only a refusal is looked at again, at the places that are wrong, by
`jsonschema`, from which the messages are worded (`violations`, `messages`). Messages name the field and what is allowed
and never quote the value: it may be a secret. Knows nothing of what the documents mean.
"""

import functools
from collections.abc import Iterable
from importlib import resources
from itertools import islice
from typing import Any

import jsonschema_rs
import orjson

from gateway.domain import Json
from gateway.schemas.messages import Problem
from gateway.schemas.violations import ViolationFinder

MAX_DEPTH = 100
"""Levels of nesting in a request body."""

_COUNTED_BYTES = 16_384
_MANY_CHILDREN = 5_000


@functools.cache
def load(name: str) -> Json:
    """The schema file `schemas/NAME.json` (`chat`, `tools/search`). Raises FileNotFoundError. Treat it as read-only."""
    schema: Json = orjson.loads(resources.files("gateway_schemas").joinpath(*f"{name}.json".split("/")).read_bytes())
    return schema


class Checker:
    """A schema compiled once."""

    def __init__(self, schema: Json) -> None:
        self._fast = jsonschema_rs.validator_for(schema)
        self._places = ViolationFinder(schema)

    def check(self, value: Any, *, limit: int = 64) -> list[Problem]:
        """What is wrong, at most `limit` problems, in document order; empty when the value is valid."""
        if self._fast.is_valid(value):
            return []
        different = {str(problem): problem for problem in islice(self._places.wrong(value), limit)}
        return list(different.values())


def is_too_deep(raw: bytes, value: Any) -> bool:
    """Whether a decoded body is nested deeper than MAX_DEPTH. `raw` is the body it came from."""
    if len(raw) <= _COUNTED_BYTES and _has_few_brackets(raw):
        return False  # counting those of a long body would cost more than walking it, mostly
    layer, counted = _containers([value]), False
    for _ in range(MAX_DEPTH):
        if not counted and sum(map(len, layer)) > _MANY_CHILDREN:
            if _has_few_brackets(raw):
                return False
            counted = True
        layer = _containers(child for item in layer for child in (item.values() if type(item) is dict else item))
        if not layer:
            return False
    return True


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if type(value) is dict or type(value) is list]


def _has_few_brackets(raw: bytes) -> bool:
    return raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH
