"""The checker: the fast library decides, the slow one words it, and neither shows the value."""

from typing import Any
from unittest.mock import Mock

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.schemas import Checker, load
from gateway.schemas.violations import ViolationFinder, _is_of, kind_of

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "items": {"type": "array", "maxItems": 3, "items": {"$ref": "#/$defs/item"}},
        "mode": {"enum": ["fast", "slow"]},
        "either": {"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "string"}}]},
        "choice": {"anyOf": [{"enum": ["auto", "none", None]}, {"type": "object", "required": ["type"]}]},
    },
    "required": ["mode"],
    "additionalProperties": False,
    "$defs": {"item": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 3}}}},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["fast", "x"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["items", "mode", "either", "size", "other"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"mode": "fast", "items": [{"size": 5}, {"size": 1}]}, ["items[1].size: must be at least 3, not 1"]),
        ({"mode": "secret-value"}, ["mode: must be one of: fast, slow"]),
        ({"mode": "fast", "either": [1]}, ["either[0]: must be a string, not 1"]),
        ({"mode": "fast", "either": "secret-value"}, ["either: must be null or an array, not a string"]),
        ({"mode": "fast", "colour": "secret-value"}, ["colour: is unknown; allowed: items, mode, either, choice"]),
        ({}, ["mode: is required"]),
        (["secret-value"], ["must be an object, not an array"]),
        ({"mode": "fast", "choice": "secret-value"}, ["choice: must be auto or none or an object"]),
        ({"mode": "fast", "choice": {}}, ["choice.type: is required"]),
        ({"mode": "slow", "items": [{}] * 4}, ["items: must have at most 3 items, not 4"]),
    ],
)
def test_a_problem_names_the_place_and_what_is_allowed_but_not_the_value(value: Any, expected: list[str]) -> None:
    problems = [str(problem) for problem in Checker(SCHEMA).check(value)]
    assert problems == expected
    assert "secret-value" not in str(problems)


@pytest.mark.parametrize(
    ("value", "given"),
    [
        (None, "null"), (True, "true"), (False, "false"), (2.5, "2.5"), (-3, "-3"), (10**8 - 1, "99999999"),
        (10**8, "a number"), (4556737586899855, "a number"), (4556737586899855.0, "a number"), (1e-7, "1e-07"),
        (0.12345678912345, "a number"), (float("inf"), "a number"), ([1], "an array"), ({"a": 1}, "an object"),
    ],
)  # fmt: skip
def test_a_value_of_a_wrong_type_is_named_by_its_kind_and_a_long_number_is_not_shown(value: Any, given: str) -> None:
    assert kind_of(value) == given
    assert str(Checker({"type": "string"}).check(value)[0]) == f"must be a string, not {given}"


def test_a_long_number_beyond_a_limit_is_not_shown() -> None:
    schema = {"maximum": 20}
    assert str(Checker(schema).check(1000)[0]) == "must be at most 20, not 1000"
    assert str(Checker(schema).check(4556737586899855)[0]) == "must be at most 20"


@pytest.mark.slow
@given(JSON)
def test_the_fast_library_agrees_with_the_reference_on_every_value(value: Any) -> None:
    reference = jsonschema.Draft202012Validator(SCHEMA).is_valid(value)
    assert (Checker(SCHEMA).check(value) == []) == reference


@pytest.mark.parametrize("kind", ["object", "array", "string", "number", "integer", "boolean", "null"])
@pytest.mark.parametrize("value", [{}, [], "1", 1, 1.0, 1.5, True, False, None], ids=repr)
def test_a_value_is_refused_for_its_type_where_the_reference_refuses_it(kind: str, value: Any) -> None:
    fits = jsonschema.Draft202012Validator({"type": kind}).is_valid(value)
    assert (_is_of(kind, value), _is_of(["string", kind], value)) == (fits, fits or isinstance(value, str))


def test_a_large_wrong_document_is_worded_from_its_wrong_place_alone() -> None:
    items = [{"size": 9}] * 100_000
    schema = {
        **SCHEMA,
        "properties": {**SCHEMA["properties"], "items": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
    }
    problems = Checker(schema).check({"mode": "fast", "items": [*items, {"size": "x"}]})
    assert [str(problem) for problem in problems] == ["items[100000].size: must be an integer, not a string"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"items": [{}] * 3_000_000}, ["mode: is required", "items: must have at most 3 items, not 3000000"]),
        (
            {"mode": "fast", "either": [1] * 300_000},
            [f"either[{index}]: must be a string, not 1" for index in range(3)],
        ),
        ({"mode": "fast", "either": [*["x"] * 300_000, 1]}, ["either[300000]: must be a string, not 1"]),
        (
            {"mode": "fast", "either": [*["x"] * 70, 1] * 2},
            ["either[70]: must be a string, not 1", "either[141]: must be a string, not 1"],
        ),
        ({"mode": "fast", "choice": [1] * 300_000}, ["choice: must be auto or none or an object, not an array"]),
    ],
    ids=["too many", "all wrong", "the last", "two", "another type"],
)
def test_what_is_wrong_a_hundred_thousand_times_is_told_after_few_looks(
    value: Any, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, fits = Mock(), ViolationFinder._fits

    def counted(*looked_at: Any) -> bool:
        looks()
        return fits(*looked_at)

    monkeypatch.setattr(ViolationFinder, "_fits", counted)
    assert [str(problem) for problem in Checker(SCHEMA).check(value)] == expected
    assert looks.call_count < 500


def test_names_of_fields_have_rules_too() -> None:
    schema = {"propertyNames": {"pattern": "^[A-Z]+$"}, "additionalProperties": {"enum": ["on", "off"]}}
    assert [str(problem) for problem in Checker(schema).check({"UP": "on", "low": "up"})] == [
        "low: must match ^[A-Z]+$",
        "low: must be one of: on, off",
    ]


def test_a_pattern_is_told_in_the_words_that_its_schema_has_for_it() -> None:
    schema = {"type": ["string", "null"], "pattern": "^[0-9]+$", "errorMessage": "must be a number of a page"}
    assert [str(problem) for problem in Checker(schema).check("x")] == ["must be a number of a page"]
    assert [str(problem) for problem in Checker(schema).check(5)] == ["must be a string or null, not 5"]


def test_pages_that_are_no_numbers_are_told_in_words() -> None:
    body = {"model": "SvcOCR", "messages": [{"role": "user", "content": "x"}], "ocr": {"pages": "all"}}
    problems = [str(problem) for problem in Checker(load("chat")).check(body)]
    assert problems == ["ocr.pages: must be a page or a range of pages, like 5 or 3-7"]


def test_every_wrong_field_is_named_and_unknown_ones_as_far_as_one_reads() -> None:
    value = {"mode": 1, "items": [{"size": 1}, {"size": "x"}, 5], "either": 5, "b": 1, "a": 2}
    assert [str(problem) for problem in Checker(SCHEMA).check(value)] == [
        "mode: must be one of: fast, slow",
        "items[0].size: must be at least 3, not 1",
        "items[1].size: must be an integer, not a string",
        "items[2]: must be an object, not 5",
        "either: must be null or an array, not 5",
        "b: is unknown; allowed: items, mode, either, choice",
        "a: is unknown too",
    ]
    many = [str(problem) for problem in Checker(SCHEMA).check({"mode": "fast", **{f"f{n}": n for n in range(70_000)}})]
    assert len(many) == 21 and many[-1] == "69980 more fields are unknown"
