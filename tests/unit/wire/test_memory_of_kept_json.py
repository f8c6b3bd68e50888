"""JSON that caches keep: a cache that counts the length of its values holds no more memory than it counts."""

import tracemalloc
from collections.abc import Callable

import pytest

from gateway.mcp.tools import tool_table
from gateway.services.hosted_tools.web_search import CallMemory
from gateway.wire.hosted_answer import HostedCall
from gateway.wire.preencoded import PackedJson
from tests.support.web_tools import RecordingTools

_TEXT = "words of a page " * 190
_VALUES = 60


def _kept_calls() -> object:
    memory = CallMemory()
    for number in range(_VALUES):
        memory.put("key", HostedCall(f"ws_{number}", "web_search", "web_search", "{}", output=_TEXT, sources=[]))
    return memory


def _kept_answers() -> object:
    return [PackedJson.of({"results": [{"content": _TEXT}], "query": "q"}) for _ in range(_VALUES)]


def _kept_arguments() -> object:
    tool = tool_table(RecordingTools())["websearch-search"]
    for number in range(_VALUES):
        tool.remember(tool.prepare({"query": f"{number} {_TEXT[:300]}"}))
    return tool


@pytest.mark.parametrize(
    ("keep", "value_bytes"), [(_kept_calls, 3_200), (_kept_answers, 3_100), (_kept_arguments, 3_000)]
)
def test_what_is_remembered_takes_its_length_and_little_more(keep: Callable[[], object], value_bytes: int) -> None:
    keep()  # what is loaded at the first use does not count
    tracemalloc.start()
    try:
        kept = keep()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept is not None
    assert held / _VALUES < value_bytes + 1_500
