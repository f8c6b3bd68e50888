"""Loads JSON Schema files and checks documents against them.

`jsonschema-rs` decides whether a document is valid (20 µs on a 100 KB body). Only for a refusal, `violations` finds the
wrong places and words them: the field and what is allowed, never the value, which may be a secret.
"""

import functools
import importlib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from gateway.domain import Json
from gateway.schemas.violations import Problem, ViolationFinder, compiled

if TYPE_CHECKING:
    from jsonschema_rs import Validator


@functools.cache
def load(name: str) -> Json:
    """The decoded file `schemas/NAME.json` (`chat`, `tools/search`). All callers share it: do not change it.

    Raises FileNotFoundError.
    """
    # As importlib.resources finds it, which would take a supervisor a megabyte.
    folder = Path(importlib.import_module("gateway_schemas").__path__[0])
    schema: Json = orjson.loads(folder.joinpath(f"{name}.json").read_bytes())
    return schema


def load_with_items(name: str) -> Json:
    """The schema `name`, whose items are those of `responses`."""
    return {**load(name), "$defs": load("responses")["$defs"]}


class Checker:
    """A schema, compiled at the first check: an idle process needs neither that nor the library (6 MiB; measured
    2026-11-22: the first check of a process takes 8 ms longer for it)."""

    def __init__(self, schema: Json) -> None:
        """`schema` may use what `ViolationFinder` knows."""
        self._schema = schema
        self._finder = ViolationFinder(schema)

    @functools.cached_property
    def _validator(self) -> "Validator":
        return compiled(self._schema)

    def allows(self, value: Any) -> bool:
        """Whether the value is valid. Raises ValueError for what is not a schema."""
        return self._validator.is_valid(value)

    def check(self, value: Any, *, limit: int = 64) -> list[Problem]:
        """At most `limit` problems in document order, each once; empty when the value is valid. Raises as `allows`."""
        if self.allows(value):
            return []
        problems = {str(problem): problem for problem in islice(self._finder.problems(value), limit)}
        return list(problems.values())
