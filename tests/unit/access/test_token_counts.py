"""Tokens are counted by bytes, and better with every answer whose upstream tells how many there were."""

import pytest

from gateway.access.token_counts import Size, TokenCounts, believed, estimate, size_of
from gateway.domain import Json


def message(*parts: Json) -> Json:
    return {"model": "m", "messages": [{"role": "user", "content": list(parts)}]}


TEXT = {"type": "text", "text": "a" * 1000}


def test_a_token_has_two_bytes_until_more_is_known() -> None:
    assert TokenCounts().most("m", Size(4001)) == 2001 and TokenCounts().most("m", Size(0)) == 1
    tokens, is_estimate = TokenCounts().of("m", {"messages": [{"role": "user", "content": "the one word " * 100}]})
    assert 270 <= tokens <= 330 and is_estimate


def test_a_character_counts_by_its_bytes_and_names_of_members_count_too() -> None:
    assert size_of({"model": "long name", "max_tokens": 5, "input": "äö"}) == Size(4)
    assert size_of({"tools": [{"name": "é"}]}) == Size(6)
    assert size_of({"input": [1, 2, 3]}) == Size(0, 3) and size_of({"input": ["a", 1, "b", 22]}) == Size(6)


DENSE = [("4711" * 1000, 4000), ("aB3dE5gH7jK9mN1p" * 250, 2400), ("😀" * 1000, 3000), ("Ab cd ef gh " * 300, 936)]


@pytest.mark.parametrize(("text", "least"), DENSE, ids=["digits", "a key", "emoji", "words"])
def test_what_tokenizers_do_not_join_counts_by_itself_whatever_is_known(text: str, least: int) -> None:
    counts = TokenCounts()
    for _ in range(40):
        counts.note("m", Size(40_000), 10_000)
    assert least <= counts.most("m", size_of({"input": text})) < least * 1.7


MEDIA = [
    ({"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4_000_000}}, Size(25, 1000)),
    ({"type": "input_image", "image_url": "https://example.org/a.png"}, Size(24, 1000)),
    ({"type": "input_audio", "input_audio": {"data": "A" * 6400, "format": "wav"}}, Size(39, 1100)),
    ({"type": "file", "file": {"file_data": "data:application/pdf;base64," + "A" * 6372}}, Size(21, 1100)),
    ({"type": "file", "file": {"file_data": "data:text/plain;base64," + "A" * 3977}}, Size(21 + 3000)),
]


@pytest.mark.parametrize(("part", "size"), MEDIA)
def test_media_counts_as_such_and_a_file_of_text_by_its_text(part: Json, size: Size) -> None:
    found = size_of(message(TEXT, part))
    assert Size(found.bytes - size_of(message(TEXT)).bytes, found.media_tokens) == size


def test_text_that_looks_like_an_image_is_text() -> None:
    text = "data:image/png;base64," + "word " * 2000
    assert size_of(message({"type": "text", "text": text})).bytes > 10_000
    schema = {"type": "image_url", "image_url": {"url": text}}
    assert size_of({"messages": [], "tools": [{"parameters": schema}]}).bytes > 10_000


def test_a_model_has_its_own_ratio_once_its_upstream_has_told() -> None:
    counts = TokenCounts()
    counts.note("m", Size(40_000), 10_000)
    chat = {"messages": [{"role": "user", "content": "a" * 3985}]}
    assert counts.of("m", chat) == (1000, False) and counts.of("other", chat)[1]
    for _ in range(20):
        counts.note("m", Size(40_000), 10_000)
    assert 1050 <= counts.most("m", Size(4000)) < 1100 and counts.most("other", Size(4000)) == 2000


def test_a_denser_text_raises_what_is_reserved_at_once_and_a_template_comes_on_top() -> None:
    counts = TokenCounts()
    for _ in range(20):
        counts.note("m", Size(40_000), 10_000)
    counts.note("m", Size(40_000), 24_000)
    assert 24_000 <= counts.most("m", Size(40_000)) < 26_000
    counts.note("m", Size(20), 300)
    assert counts.most("m", Size(20)) >= 300


@pytest.mark.parametrize("told", [0, 1, 100, 90_000, 10**9])
def test_what_no_tokenizer_makes_says_nothing(told: int) -> None:
    counts = TokenCounts()
    counts.note("m", Size(40_000), told)
    assert counts.most("m", Size(40_000)) == 20_000 and counts.of("m", {})[1]


def test_what_is_told_counts_unless_no_tokenizer_makes_so_few() -> None:
    assert believed(100, 400, 200) == 100 and believed(1000, 400, 200) == 1000
    assert believed(1, 400, 200) == believed(0, 400, 200) == 200


def test_a_conversation_is_estimated_by_its_texts_and_media() -> None:
    assert 270 <= estimate([{"type": "message", "content": "the one word " * 100}]) <= 330
    picture = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 4000}
    assert 1_000 <= estimate([{"role": "user", "content": [picture]}]) <= 1_020
