"""Estimates of tokens beside what two tokenizers of OpenAI make of texts that the estimate was not fitted to."""

import json
from collections.abc import Callable

import pytest

from gateway.access.token_counts import TokenCounts
from gateway.wire import embeddings
from gateway.wire.messages.object import QUICK_CHARS, token_estimate
from gateway.wire.token_estimate import tokens_in
from tests.support.paths import ROOT


def english() -> str:
    return "\n".join((ROOT / "docs" / name).read_text() for name in ("ocr.md", "rendering.md", "proxies.md"))


def german() -> str:
    letters = json.loads((ROOT / "tests" / "golden" / "sanitize" / "everyday.json").read_text())[60:80]
    return "\n\n".join(each["text"] for each in letters)


def code() -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / "gateway" / "mcp").glob("*.py")))


def words() -> str:
    return " ".join(english().split()[:2_000])


TEXTS: dict[str, Callable[[], str]] = {"English": english, "German": german, "code": code, "2,000 words": words}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
def test_an_estimate_is_within_fifteen_parts_of_a_hundred(text: str, encoding: str) -> None:
    import bpe_openai  # type: ignore[import-untyped]  # half a second, for this test alone

    said = TEXTS[text]()
    real = len(bpe_openai.get_encoding(encoding).encode(said))
    chat = {"model": "m", "messages": [{"role": "user", "content": said}]}
    made = {"plain": tokens_in([said]), "in lines": tokens_in(said.splitlines(keepends=True))}
    made |= {"input_tokens": TokenCounts().of("m", chat)[0], "count_tokens": token_estimate(chat)}
    made["embeddings"] = embeddings.token_estimate({"input": said})
    assert {name: round(count / real, 2) for name, count in made.items() if not 0.85 <= count / real <= 1.15} == {}
    assert 0.75 <= token_estimate(chat, QUICK_CHARS) / real <= 1.25


@pytest.mark.parametrize("text", ["", " ", "\ud800", "漢字" * 9, "🎉" * 9, "привет мир", "\n" * 9])
def test_any_text_has_an_estimate(text: str) -> None:
    assert 0 <= tokens_in([text]) <= 2 * max(1, len(text)) and tokens_in([]) == 0


def test_a_chat_has_at_least_one_token_and_those_of_its_calls_and_tools() -> None:
    message = {"content": None, "tool_calls": [{"function": {"name": "add", "arguments": "word " * 80}}]}
    assert token_estimate({"messages": []}) == 1 and 70 < token_estimate({"messages": [message]}) < 100
    assert 140 < token_estimate({"messages": [message], "tools": ["word " * 80]}) < 200
