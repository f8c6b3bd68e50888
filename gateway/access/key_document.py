"""Whether a document of keys (schemas/keys.json), from the file or from Redis, is what it should be.

Naive form: `schemas.Checker`. Each worker reads the keys when it starts, and documents as we write them are known
without it: an idle worker then needs no compiled schema, which takes 5 MiB (measured 2026-11-22).
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from gateway import schemas
from gateway.domain import KEY_LIMITS, is_scope
from gateway.schemas.messages import Problem

_ID, _SHA256 = re.compile(r"[a-z0-9]{8}"), re.compile(r"[0-9a-f]{64}")
_MAX_NAME_CHARS, _MAX_KEYS = 100, 100_000
"""As in the schema; a test compares the two on documents of many kinds."""


def first_problem(document: Any) -> Problem | None:
    """The first violation of the schema; None when the document is valid."""
    if _is_as_written(document):
        return None
    return next(iter(schemas.Checker(schemas.load("keys")).check(document, limit=1)), None)


def _is_as_written(document: Any) -> bool:
    """Whether it is certainly valid. Documents that only the schema can judge are not."""
    if type(document) is not dict or document.keys() != {"version", "keys"}:
        return False
    keys = document["keys"]
    has_form = type(document["version"]) is int and document["version"] == 1 and type(keys) is list
    return has_form and len(keys) <= _MAX_KEYS and all(map(_is_record, keys))


def _is_record(record: Any) -> bool:
    if type(record) is not dict or not _REQUIRED <= record.keys() <= _FORMS.keys():
        return False
    return all(_FORMS[name](value) for name, value in record.items())


def _is_whole(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_limit(value: Any) -> bool:
    return value is None or _is_whole(value)


def _are_scopes(value: Any) -> bool:
    if type(value) is not list or not value or not all(type(each) is str and is_scope(each) for each in value):
        return False
    return len(set(value)) == len(value)


_FORMS: Mapping[str, Callable[[Any], bool]] = {
    "id": lambda value: type(value) is str and _ID.fullmatch(value) is not None,
    "name": lambda value: type(value) is str and 1 <= len(value) <= _MAX_NAME_CHARS,
    "sha256": lambda value: type(value) is str and _SHA256.fullmatch(value) is not None,
    "scopes": _are_scopes,
    "created": _is_whole,
    "expires": _is_limit,
    **dict.fromkeys(KEY_LIMITS, _is_limit),
    "spend_per_month": lambda value: _is_limit(value) or (type(value) is float and value >= 0),
}
_REQUIRED = frozenset(("id", "name", "sha256", "scopes", "created"))
