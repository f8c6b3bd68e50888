"""Calls of custom and built-in tools: the same item however the model's arguments are cut."""

import itertools
from typing import Any

import pytest

from gateway.wire.responses.streamed_call import StreamedCall
from gateway.wire.responses.tool_names import ToolRef

CUSTOM = ToolRef("custom", "apply")


def streamed(ref: ToolRef, arguments: str, cuts: list[int]) -> tuple[str, dict[str, Any], list[tuple[str, Any]]]:
    """The deltas joined, the item, and the events of the end."""
    call, places = StreamedCall(ref, "c"), sorted({0, len(arguments), *(cut % (len(arguments) + 1) for cut in cuts)})
    events = [each for start, end in itertools.pairwise(places) for each in call.take(arguments[start:end])]
    events += call.end()
    return "".join(fields["delta"] for kind, fields in events if kind.endswith(".delta")), call.item, events


OTHER_FORMS = [
    ('{"patch": "x"}', "x"), ('"x"', "x"), ("*** Begin Patch", "*** Begin Patch"), ("{}", ""), ("", ""),
    ('{"input": 5}', '{"input": 5}'), ('{"input": "a\nb"}', "a\nb"), ('{"input":"\\ud83dx"}', "\ufffdx"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "expected"), OTHER_FORMS)
def test_arguments_of_another_form_are_taken_as_they_are_meant(arguments: str, expected: str) -> None:
    assert streamed(CUSTOM, arguments, [3, 9])[1]["input"] == expected


BUILT_IN = [
    ("local_shell", '{"command":["ls"]}', "action", {"type": "exec", "env": {}, "command": ["ls"]}),
    ("shell", '{"commands":["ls"]}', "action", {"commands": ["ls"]}),
    ("apply_patch", '{"type":"delete_file","path":"a"}', "operation", {"type": "delete_file", "path": "a"}),
    ("tool_search", '{"goal":"mail"}', "arguments", {"goal": "mail"}),
]


@pytest.mark.parametrize(("kind", "arguments", "field", "expected"), BUILT_IN)
def test_a_built_in_tool_gets_its_own_item(kind: str, arguments: str, field: str, expected: dict[str, Any]) -> None:
    item = streamed(ToolRef(kind, kind), arguments, [])[1]
    assert (item["type"], item["call_id"], item[field]) == (f"{kind}_call", "c", expected)


@pytest.mark.parametrize("arguments", ["", "[]", '{"command": null}', "ls -l"])
def test_a_built_in_call_without_what_its_tool_needs_is_told_as_a_function_call(arguments: str) -> None:
    item = streamed(ToolRef("local_shell", "local_shell"), arguments, [])[1]
    assert (item["type"], item["name"]) == ("function_call", "local_shell") and item["arguments"] == (arguments or "{}")
