"""Bodies with long data URLs are decoded to what the JSON parser itself gives, in a fraction of its time."""

import time
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from gateway.wire.large_json import LARGE_BYTES, LongText, Pieces, decode, decode_steps, encode

URL = "data:image/png;base64," + "QUJD" * (LARGE_BYTES // 3)
ESCAPED = "A\\/" * LARGE_BYTES
NAMED = orjson.dumps(URL).decode()
BEGINNINGS, PAIRS, HALF = '\\"data:' * LARGE_BYTES, "word \\ud83d\\ude00" * (LARGE_BYTES // 4), '"\\ud83d"'


@pytest.mark.parametrize(
    "text",
    [
        f'{{"a": {NAMED}}}',
        f'[{NAMED}, {{"b": [{NAMED}, "data:short", 1, null]}}, {NAMED}]',
        f'{{"a": "said \\"data:", "b": {NAMED}, "c": "\\\\"}}',
        f"{{{NAMED}: {NAMED}}}",
        f'{{"a": {NAMED}, "a": 2, "b": {NAMED}}}',
        f'{{"a": "data:image/png;base64,{ESCAPED}"}}',
        f'{{"a": "data:{"ä" * LARGE_BYTES}", "b": {NAMED}}}',
        f'{{"text": "{"word " * LARGE_BYTES}", "a": {NAMED}}}',
        NAMED,
        f'["{"x" * 2 * LARGE_BYTES}"]',
        f'["{BEGINNINGS}", {NAMED}]',
        f'["{PAIRS}", "{"я" * LARGE_BYTES}😀"]',
    ],
    ids=[
        "one",
        "several",
        "quotes",
        "a key",
        "twice",
        "escaped",
        "not ascii",
        "long text",
        "alone",
        "no data URL",
        "beginnings of data URLs",
        "escapes and wide letters",
    ],
)
def test_a_large_body_is_decoded_as_the_parser_decodes_it(text: str) -> None:
    assert decode(text.encode()) == orjson.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        f'{{"a": {NAMED}',
        f'{{"a": {NAMED[:-1]}',
        f'{{"a": "x"data:{NAMED[6:]}}}',
        f'{{"a": {NAMED}}} {{}}',
        *(f'{{"a": {NAMED}, "b": {NAMED[:-4]}{control}{NAMED[-4:]}}}' for control in "\n\r\t"),
        f'["{"x" * 2 * LARGE_BYTES}", {HALF}]',
        f"[{LARGE_BYTES * '77'}]",
        f"\ufeff{NAMED}",
        f"{' ' * LARGE_BYTES}xyz",
    ],
    ids=[
        "cut",
        "cut inside",
        "no comma",
        "two documents",
        "line feed",
        "carriage return",
        "tab",
        "half a pair",
        "a long number",
        "byte order mark",
        "spaces",
    ],
)
def test_a_large_body_that_is_no_json_is_refused_at_the_parsers_place(text: str) -> None:
    with pytest.raises(orjson.JSONDecodeError) as ours:
        decode(text.encode())
    with pytest.raises(orjson.JSONDecodeError) as theirs:
        orjson.loads(text)
    assert (ours.value.lineno, ours.value.colno) == (theirs.value.lineno, theirs.value.colno)


_WORDS = "plain words and more of them "


@pytest.mark.parametrize(
    "value",
    [
        {"messages": [{"role": "user", "content": [{"type": "text", "text": _WORDS * 5}] * 1_500}] * 20},
        {"text": _WORDS * 200_000},
        {"text": (_WORDS + "é") * 200_000, _WORDS * 100_000: 1},
        {"text": '[{"a": "b\\n"}, ' * 300_000},
    ],
    ids=["parts", "one text", "wide letters and a long name", "JSON in a text"],
)
def test_no_step_of_decoding_takes_the_time_of_a_large_body(value: object) -> None:
    """Of three tries the one whose longest step is shortest: with one step for all it takes as long as the parser."""
    raw = orjson.dumps(value)
    steps = [max(step_times(decode_steps(bytearray(raw)))) for _ in range(3)]
    assert min(steps) < max(0.006, 0.5 * fastest_s(orjson.loads, raw)), steps


def step_times(steps: Iterator[None]) -> Iterator[float]:
    """CPU seconds of each step."""
    begun = time.thread_time()
    for _ in steps:
        yield time.thread_time() - begun
        begun = time.thread_time()
    yield time.thread_time() - begun


def fastest_s(function: Any, argument: Any) -> float:
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        function(argument)
        times.append(time.perf_counter() - begun)
    return min(times)


@pytest.mark.alone
def test_an_image_is_decoded_faster_than_by_the_parser() -> None:
    """Measured: .37 to .52 of its time, by machine."""
    body = orjson.dumps({"messages": [{"content": [{"image_url": {"url": URL * 10}}]}]})
    assert fastest_s(decode, body) < 0.7 * fastest_s(orjson.loads, body)


@pytest.mark.parametrize("url", [URL, "http://host/a.png", 'data:x,"', 'data:x,"' + URL, "data:ä" + URL])
def test_a_body_sent_in_pieces_is_the_body(url: str) -> None:
    sent = encode({"a": LongText.of(url), "b": ["c", LongText.of(url)], "d": 1})
    whole = sent if isinstance(sent, bytes) else b"".join(sent)
    assert orjson.loads(whole) == {"a": url, "b": ["c", url], "d": 1}
    if isinstance(sent, Pieces):
        assert sent.size == len(whole)
        assert max(len(piece) for piece in sent) <= 1 << 18


def test_only_long_data_urls_are_sent_in_pieces() -> None:
    assert isinstance(encode([LongText.of(URL)]), Pieces)
    assert encode([LongText.of("data:,short")]) == b'["data:,short"]'
    with pytest.raises(TypeError):
        encode([object()])
