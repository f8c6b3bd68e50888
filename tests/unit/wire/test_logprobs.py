"""Log probabilities as one text: what tokens and bytes spell."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.wire.logprobs import LogprobsSlot
from gateway.wire.text_walk import answer_slots


def slot_of(logprobs: Any) -> LogprobsSlot:
    return LogprobsSlot({"logprobs": logprobs}, "logprobs", "logprobs", "label")


def tokens(text: str, alternatives: int) -> list[dict[str, Any]]:
    """A token for each character, with other tokens in its place."""

    def token(letter: str) -> dict[str, Any]:
        return {"token": letter, "bytes": list(letter.encode()), "logprob": -0.5}

    return [{**token(letter), "top_logprobs": [token("x")] * alternatives} for letter in text]


def naive_lines(content: list[dict[str, Any]]) -> Iterator[str]:
    """What tokens spell, what bytes spell, and both for each alternative."""
    yield "".join(each["token"] for each in content)
    yield b"".join(bytes(each["bytes"]) for each in content).decode()
    for each in content:
        for other in each["top_logprobs"]:
            yield other["token"]
            yield bytes(other["bytes"]).decode()


@pytest.mark.parametrize("times", [1, 200])
def test_tokens_bytes_and_alternatives_are_spelt(times: int) -> None:
    content = tokens("a café for ops@posthaus.com " * times, 3)
    slot = slot_of({"content": content, "refusal": None})
    assert sorted(filter(None, slot.text.split("\n"))) == sorted(naive_lines(content))


@pytest.mark.parametrize("odd", ["SECRET", ["SECRET"], {"any": "SECRET"}, [7, {"any": ["SECRET"]}], 7])
@pytest.mark.parametrize("field", ["token", "bytes", "logprob"])
def test_a_string_where_none_belongs_is_read_too(field: str, odd: Any) -> None:
    slot = slot_of({"content": [{"token": "a", "bytes": [97], "logprob": -1.0, field: odd}]})
    assert ("SECRET" in slot.text) == (odd != 7)


def test_what_was_dropped_spells_nothing() -> None:
    slot = slot_of({"content": tokens("abc", 0)})
    assert "abc" in slot.text
    slot.text = "[SECRET]"
    assert slot.holder == {"logprobs": None} and slot.text == ""


@pytest.mark.parametrize(("value", "empty"), [([{"token": "a"}], []), ({"content": [{"token": "a"}]}, None)])
def test_probabilities_of_a_text_that_is_masked_are_dropped(value: Any, empty: object) -> None:
    holder = {"text": "a secret", "logprobs": value}
    spelt = [slot for slot in answer_slots({"choices": [holder]}) if slot.key == "logprobs"]
    assert [slot.text.strip() for slot in spelt] == ["a"]
    spelt[0].text = "[REDACTED]"
    assert holder["logprobs"] == empty
