"""Schemas that callers send: used where they can be, refused where they could cost time or reach another machine."""

from typing import Any

import pytest

from gateway.wire.chat.caller_schema import MAX_PARTS, CallerSchema

TWICE = {"allOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}]}


def test_local_references_are_followed() -> None:
    schema = CallerSchema({"properties": {"a": {"$ref": "#/$defs/a~1b"}}, "$defs": {"a/b": {"type": "integer"}}})
    assert schema.is_valid({"a": 1}) and not schema.is_valid({"a": "1"})


UNUSABLE = [
    5, {"type": "objekt"}, {"pattern": "("}, {"$ref": "#/nope"}, {"$ref": "https://example.org/schema"},
    {"$schema": "https://example.org/meta"}, {"$ref": "#"}, {"items": {"$dynamicRef": "#"}},
    {"$ref": "#/$defs/b", "$defs": {"b": TWICE}}, {"allOf": [{}] * (MAX_PARTS + 1)},
    {"$ref": "#/$defs/a0", "$defs": {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(30)}},
]  # fmt: skip


@pytest.mark.parametrize("schema", UNUSABLE)
def test_a_schema_that_cannot_be_used_is_refused_without_its_words(schema: Any) -> None:
    with pytest.raises(ValueError, match=r"^its schema ") as caught:
        CallerSchema(schema)
    assert "example" not in str(caught.value) and "objekt" not in str(caught.value)


def test_work_beyond_the_bound_is_not_done() -> None:
    many = CallerSchema({"allOf": [{"items": {"minimum": number}} for number in range(-900, 0)]})
    pattern = CallerSchema({"pattern": "^(a+)+(?=x)$"})
    assert many.is_valid([1] * 100) and not many.is_valid([1] * 100_000) and not pattern.is_valid("a" * 5_000)


@pytest.mark.parametrize("place", ["²", "9" * 5_000, "-1", "7"])
def test_a_reference_to_no_place_of_a_list_is_refused_in_our_own_words(place: str) -> None:
    with pytest.raises(ValueError, match=r"^its schema is not a valid JSON Schema$"):
        CallerSchema({"$ref": f"#/allOf/{place}", "allOf": [{}]})
