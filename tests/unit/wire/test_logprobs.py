"""Log probabilities as one text: what tokens and bytes spell, in steps where there are many."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.wire.logprobs import LogprobsSlot, PackedLogprobs
from gateway.wire.text_walk import answer_slots


def slot_of(logprobs: Any) -> tuple[LogprobsSlot, int]:
    """The slot, and in how many steps it was made."""
    slot = LogprobsSlot({"logprobs": logprobs}, "logprobs", "logprobs", "label")
    return slot, sum(1 for _ in slot.spell())


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


def test_few_log_probabilities_are_spelt_at_once() -> None:
    content = tokens("a café for ops@posthaus.com", 3)
    slot, steps = slot_of({"content": content, "refusal": None})
    assert steps == 0
    assert sorted(filter(None, slot.text.split("\n"))) == sorted(naive_lines(content))


def test_many_are_spelt_as_few_are_in_a_step_for_every_thousand_values() -> None:
    content = tokens("ops@posthaus.com é " * 300, 5)
    slot, steps = slot_of({"content": content})
    assert steps > len(content) * 6 // 1_100
    assert sorted(filter(None, slot.text.split("\n"))) == sorted(naive_lines(content))


@pytest.mark.slow
@pytest.mark.parametrize("logprobs", [
    {"content": [{"token": "a", "bytes": [104] * 40_000}]},
    {"tokens": ["h"] * 40_000},
    {"top_logprobs": [{f"h{number}": -1.0 for number in range(40_000)}]},
    [[["h"]] * 20_000],
])  # fmt: skip
def test_whatever_there_is_many_of_is_taken_in_steps(logprobs: Any) -> None:
    slot, steps = slot_of(logprobs)
    assert steps >= 20 and slot.text.count("h") >= 20_000


@pytest.mark.parametrize("odd", ["SECRET", ["SECRET"], {"any": "SECRET"}, [7, {"any": ["SECRET"]}], 7])
@pytest.mark.parametrize("field", ["token", "bytes", "logprob"])
def test_a_string_where_none_belongs_is_read_too(field: str, odd: Any) -> None:
    slot, _ = slot_of({"content": [{"token": "a", "bytes": [97], "logprob": -1.0, field: odd}]})
    assert ("SECRET" in slot.text) == (odd != 7)


def test_what_was_dropped_spells_nothing() -> None:
    slot, _ = slot_of({"content": tokens("abc", 0)})
    assert "abc" in slot.text
    slot.text = "[SECRET]"
    assert slot.holder == {"logprobs": None} and slot.text == ""


@pytest.mark.parametrize(("value", "empty"), [([{"token": "a"}], []), ({"content": [{"token": "a"}]}, None)])
def test_packed_probabilities_of_a_text_that_is_masked_are_dropped(value: Any, empty: object) -> None:
    holder = {"text": "a secret", "logprobs": PackedLogprobs.of(value)}
    slots = answer_slots({"choices": [holder]})
    spelt = [slot for slot in slots if slot.key == "logprobs"]
    assert [slot.text.strip() for slot in spelt] == ["a"]
    spelt[0].text = "[REDACTED]"
    assert holder["logprobs"] == empty
