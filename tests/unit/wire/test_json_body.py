"""Bodies with long base64 are the same values as with the plain decoder; each limit is a refusal that names it."""

import base64
import random
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import PayloadTooLarge
from gateway.wire.json_body import BadJson, JsonBody, JsonLimits

PNG = b"\x89PNG\r\n\x1a\n"
LIMITS = JsonLimits(text_bytes=400_000, values=2_000, numbers=3_000)


def encoded(head: bytes, size: int = 450_000) -> str:
    """Base64 of a file of `size` bytes that begins with `head`."""
    return base64.b64encode(head + random.Random(1).randbytes(size)).decode()


async def read(value: Any, limits: JsonLimits = LIMITS) -> Any:
    return (await JsonBody.read(value if isinstance(value, bytes) else orjson.dumps(value), limits)).value()


@pytest.mark.parametrize("text", [
    "data:image/png;base64," + encoded(PNG), "data:image/jpeg;base64," + encoded(b"\xff\xd8\xff\xe0"),
    "DATA:Image/WebP;base64," + encoded(b"RIFF\0\0\0\0WEBPVP8 "), "data:audio/wav;base64," + encoded(b"RIFF....WAVEfm"),
    "data:audio/mpeg;base64," + encoded(b"ID3"), "data:application/pdf;base64," + encoded(b"%PDF-1.7\n"),
    encoded(PNG), encoded(b"PK\x03\x04"), encoded(b"%PDF-1.4\n"), encoded(PNG).replace("+", "-").replace("/", "_"),
])  # fmt: skip
@pytest.mark.parametrize("escapes", [False, True])
async def test_a_file_in_base64_does_not_count_as_text(text: str, escapes: bool) -> None:
    value = {"messages": [{"content": [{"type": "x", "data": text}, {"data": text}]}], "last": [text, 1, None]}
    raw = orjson.dumps(value)
    assert await read(raw.replace(b"/", b"\\/") if escapes else raw) == value


@pytest.mark.parametrize("text", [
    "data:text/plain;base64," + encoded(PNG), "data:image/svg+xml;base64," + encoded(b"<svg>"),
    "data:application/zip;base64," + encoded(b"PK\x03\x04"), "data:image/png;base64," + encoded(b"a text"),
    "data:application/pdf;base64," + encoded(PNG), "data:audio/wav;base64," + encoded(PNG),
    base64.b64encode(b"plain text, of which nothing is binary. " * 12_000).decode(), "A secret. " * 50_000,
    encoded(PNG) + " and words", encoded(PNG) + "\\n", "data:image/png," + encoded(PNG),
])  # fmt: skip
async def test_whatever_is_no_file_of_its_type_counts_as_text(text: str) -> None:
    with pytest.raises(PayloadTooLarge, match=r"server\.max_text_bytes"):
        await read({"data": text})
    assert await read({"data": text}, JsonLimits()) == {"data": text}


@pytest.mark.parametrize("raw", [
    b'{"%b": 1}', b'{"a": 1, "a": "%b", "a": 2}', b'["x\\"%b"]', b'["%b"', b'["%b" 1]', b'["a" "%b"]', b'{"a": %b}',
    b'["\\\\", "%b"]', b'["%b\\u0041"]', b'["%b\\\\"]', b'["a\\\\\\"%b"]',
])  # fmt: skip
async def test_a_string_that_is_no_value_is_read_as_the_plain_decoder_reads_it(raw: bytes) -> None:
    whole = raw.replace(b"%b", encoded(PNG).encode())
    try:
        expected = orjson.loads(whole)
    except orjson.JSONDecodeError as error:
        with pytest.raises(BadJson, match=f"line {error.lineno}, column {error.colno}"):
            await read(whole, JsonLimits())
    else:
        assert await read(whole, JsonLimits()) == expected


async def test_commas_brackets_and_digits_in_strings_do_not_count() -> None:
    text = 'x,[{\\",:1' * 15_000
    assert await read({"a": text, text: 1}) == {"a": text, text: 1}


@pytest.mark.parametrize("make", [
    lambda left: ["ab"] * left, lambda left: [[]] * left, lambda left: [{}] * left,
    lambda left: {f"name {number}": "x" for number in range(left)}, lambda left: ["\\\""] * left,
    lambda left: [None, True, "[,7,8]", "b", -1.5] * (left // 2),
])  # fmt: skip
async def test_as_many_values_pass_as_the_limit_says_and_not_one_more(make: Callable[[int], Any]) -> None:
    left = LIMITS.values - 2  # the object and what it holds
    fits = {"a": make(left)}
    assert await read(fits) == fits
    with pytest.raises(PayloadTooLarge, match=r" 2001 strings, .* limit is 2000 \(server\.max_json_values\)"):
        await read({**fits, "b": "the last"})


@pytest.mark.parametrize("number", ["7", "-0.5", "1e9", " 12345678901234567890 "])
async def test_as_many_numbers_pass_as_the_limit_says_and_not_one_more(number: str) -> None:
    members = [f'"{each}":{number}' for each in range(1_000)] + [f'"a {each}":[null,{number}]' for each in range(1_900)]
    fits = b'{%b,"rest":[%b]}' % (",".join(members).encode(), b",".join([b"1"] * 100))
    assert await read(fits) == orjson.loads(fits)
    with pytest.raises(PayloadTooLarge, match=r" 3001 numbers; the limit is 3000 \(server\.max_json_numbers\)"):
        await read(fits.replace(b"[1,", b"[1,2,"))


async def test_more_names_of_members_than_decode_in_a_turn_are_refused() -> None:
    wide = JsonLimits()
    members = [f'"{number}":null' for number in range(400_000)]
    assert len(await read(("{" + ",".join(members) + "}").encode(), wide)) == 400_000
    raw = ("[{" + ",".join(members) + '},{"more":1}]').encode()
    with pytest.raises(PayloadTooLarge, match="400001 names of members; the limit is 400000"):
        await read(raw, wide)
    assert len(await read(raw, JsonLimits(values=500_000))) == 2


async def test_a_row_of_quotes_is_refused_before_it_takes_the_memory_of_its_strings() -> None:
    for row in (b'"a,a"', b'""'):
        with pytest.raises(PayloadTooLarge, match="max_json_values"):
            await read(b'[""' + row * 49_000 + b"]")


@pytest.mark.parametrize("filler", [0, 300_000])
async def test_a_body_nested_too_deeply_is_bad(filler: int) -> None:
    deep = b"[" * 101 + b"]" * 101
    for raw in (deep, b"[" + deep[2:-2] + b"]"):
        whole = b'["%b",%b]' % (b"x" * filler, raw[1:-1])
        is_deep = raw == deep
        body = await JsonBody.read(whole, LIMITS)
        if is_deep:
            with pytest.raises(BadJson, match="more than 100 levels"):
                body.value()
        else:
            assert body.value()


BAD = [(b"", "is empty"), (b" \n", "is empty"), (b"{", "is not valid JSON in UTF-8"), (b"[" * 300, "brackets are open")]


@pytest.mark.parametrize(("raw", "said"), BAD)
async def test_what_is_wrong_with_a_body_is_said(raw: bytes, said: str) -> None:
    with pytest.raises(BadJson, match=said):
        (await JsonBody.read(raw, LIMITS)).value()


_PARTS = st.lists(st.sampled_from([
    '"', "\\\\", '\\"', "/", ",", "[", "]", "{", "}", ":", " ", "a", "data:image/png;base64,", encoded(PNG, 60_000),
    encoded(b"text ", 60_000),
]), max_size=12)  # fmt: skip


@pytest.mark.slow
@given(_PARTS)
async def test_any_document_is_read_as_the_plain_decoder_reads_it(parts: list[str]) -> None:
    raw = ("[" + "".join(parts) + "]").ljust(300_000).encode()
    try:
        expected = orjson.loads(raw)
    except orjson.JSONDecodeError:
        with pytest.raises(BadJson):
            await read(raw, JsonLimits())
    else:
        assert await read(raw, JsonLimits()) == expected
