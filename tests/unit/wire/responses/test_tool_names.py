"""Names of tools for the model: short, unique, and back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.responses.tool_names import MAX_NAME_CHARS, ToolNames, ToolRef

REFS = st.builds(
    ToolRef,
    st.sampled_from(["function", "custom", "shell"]),
    st.text("ab_.", min_size=1, max_size=4) | st.just("a" * 70),
    st.sampled_from(["", "a", "mcp__websearch", "n" * 64]),
)


@pytest.mark.slow
@given(st.lists(REFS, max_size=12), st.sets(st.sampled_from(["a", "a__b", "ab"])))
def test_every_tool_has_a_name_of_its_own_that_leads_back_to_it(refs: list[ToolRef], reserved: set[str]) -> None:
    names = ToolNames(refs, reserved)
    found = {ref: names.name_of(ref) for ref in refs}
    assert len(set(found.values())) == len(found) and not reserved & set(found.values())
    for ref, name in found.items():
        assert names.ref_of(name) == ref and len(name) <= MAX_NAME_CHARS
        assert re.fullmatch("[A-Za-z0-9_-]+", name) or (ref.kind == "function" and not ref.namespace)


def test_a_plain_function_keeps_its_name_beside_a_namespaced_one_that_would_have_it() -> None:
    plain, inner = ToolRef("function", "a__b"), ToolRef("function", "b", "a")
    names = ToolNames([inner, plain])
    assert names.name_of(plain) == "a__b"
    assert names.name_of(inner).startswith("a__b_") and names.ref_of(names.name_of(inner)) == inner


def test_a_long_name_is_shortened_in_the_same_way_in_every_request() -> None:
    ref = ToolRef("function", "read_the_whole_of_a_very_long_document", "mcp__a_server_with_quite_a_long_name")
    first, second = ToolNames([ref]).name_of(ref), ToolNames([ToolRef("custom", "x"), ref]).name_of(ref)
    assert first == second and len(first) == MAX_NAME_CHARS and first.startswith("mcp__a_server_with")


def test_a_call_of_the_history_gets_a_name_that_no_tool_has() -> None:
    names = ToolNames([ToolRef("function", "a__b")])
    gone = ToolRef("function", "b", "a")
    assert names.name_of(gone) != "a__b" and names.ref_of("invented") == ToolRef("function", "invented")
