"""Thoughts inside an answer, compared with the pattern that says the same."""

import itertools
import re

from gateway.wire.untrusted_json import without_thinking

_NAIVE = re.compile(r"<think>.*?</think>", re.DOTALL)


def test_thoughts_are_removed_as_the_naive_pattern_does() -> None:
    for parts in itertools.product(("<think>", "</think>", "a\n"), repeat=6):
        text = "".join(parts)
        assert without_thinking(text) == _NAIVE.sub("", text)


def test_a_thought_without_end_stays() -> None:
    assert without_thinking("a<think>b</think>c<think>d") == "ac<think>d"
