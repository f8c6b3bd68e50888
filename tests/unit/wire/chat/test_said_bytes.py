"""What counts as written by a model, for keys with budgets."""

from typing import Any

from gateway.wire.chat.answer import SaidBytes

DETAILS: dict[str, Any] = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}


def counted(*deltas: dict[str, Any]) -> int:
    said = SaidBytes()
    return sum(said.of(delta) for delta in deltas)


def test_thoughts_are_counted_once_whether_their_details_come_with_them_or_apart() -> None:
    both = {"content": "", "reasoning_content": "12345", "reasoning_details": [{**DETAILS, "text": "12345"}]}
    apart = [{name: value} for name, value in both.items()]
    assert counted(both, both) == counted(*apart, *apart) == counted(*reversed(apart)) * 2 == 10


def test_details_without_thoughts_and_unknown_members_are_counted() -> None:
    hidden = {"reasoning_details": [{**DETAILS, "text": "123"}], "audio": {"transcript": "four"}}
    assert counted({"role": "assistant", "content": "e\u00e9"}, hidden) == 3 + 3 + 4


def test_excerpts_of_pages_are_not_the_models_words() -> None:
    note = {"type": "url_citation", "url_citation": {"url": "https://x.org", "content": "c" * 1000}}
    assert counted({"content": "12", "annotations": [note], "citations": ["https://x.org"]}) == 2
