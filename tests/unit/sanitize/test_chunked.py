"""Long texts: scanned chunk by chunk with the findings of one scan of the whole."""

import random
import string

import pytest

from gateway.config.settings import Sanitize
from gateway.sanitize.chunks import CHUNK_CHARS, scan_chunked
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.slot_mask import SlotMasker
from gateway.texts import TextSlot
from tests.support.counted_work import peak_bytes

VALUES = (
    "4539 1488 0343 6467", "jane.doe@posthaus.org", "jane at example dot org", "GB12 WEST 1234 5698 7654 31",
    "AKIA" + "QWERTY7Z" * 2, "password: hunter22", "+41 44 668 18 00", "my PESEL number is 44051401359",
    "-----BEGIN " + "PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 40 + "-----END " + "PRIVATE KEY-----",
)  # fmt: skip


@pytest.mark.slow
def test_chunks_find_what_a_scan_of_the_whole_text_finds() -> None:
    scan = Scanner()._scan_chunk
    source = random.Random(2)
    for _ in range(4):
        parts: list[str] = []
        while sum(map(len, parts)) < 3 * CHUNK_CHARS:
            words = source.choices(("plain", "words", "of", "a", "letter", "2026", "the", "year.\n"), k=12)
            parts += [" ".join(words), " ", source.choice(VALUES), source.choice((" ", ", ", "\n"))]
        text = "".join(parts)
        assert scan_chunked(scan, text) == scan(text)


@pytest.mark.slow
def test_a_value_is_found_at_every_place_around_the_border_of_two_chunks() -> None:
    scanner = Scanner()
    for value in VALUES[:5]:
        for place in range(CHUNK_CHARS - len(value) - 2, CHUNK_CHARS + 2):
            text = ("plain words " * CHUNK_CHARS)[: place - 1] + " " + value + " and more words" * 40
            assert [text[start:end] for start, end, *_ in scanner.scan_uncached(text)] == [value]


@pytest.mark.slow
def test_the_parts_of_a_scan_are_the_findings_of_the_whole() -> None:
    text = "".join(f"call +1 202 555 {number % 10_000:04} or jane{number}@posthaus.org " for number in range(2_000))
    for scanner in (Scanner(), Scanner(allow_list=["@posthaus.org"])):
        parts = list(scanner.scan_parts(text, None))
        assert len(parts) > 1 and [finding for part in parts for finding in part] == scanner.scan(text)
    clean, scanner = "nothing but words " * 4_000, Scanner()
    assert not any(scanner.scan_parts(clean, None))
    assert not list(scanner.scan_parts(clean, None))  # known to be clean by now


@pytest.mark.slow
def test_masking_a_text_made_of_values_takes_no_more_memory_than_a_few_times_its_size() -> None:
    text = "".join(f"call +1 202 555 {number % 10_000:04} or " for number in range(20_000))
    slot = TextSlot({"content": text}, "content", "content")
    masker = SlotMasker(Scanner(), actions(Sanitize(), "requests"), lambda *_: None)
    assert peak_bytes(lambda: masker.clean(slot)) < 10 * len(text)  # twice that with all findings at once
    assert "202 555" not in slot.text and slot.text.startswith("call [REDACTED:PHONE] or call ")


def test_a_prefix_is_scanned_before_a_text_of_any_length() -> None:
    for filler in ("", "word " * 20_000):
        scanner = Scanner()
        text = "Xk29fjQ81nvPz7Lw " + filler + "write to ops@posthaus.com"
        whole = scanner.scan("password: " + text)
        parts = [each for part in scanner.scan_parts(text, None, "password: ") for each in part]
        assert [(each.start + 10, each.end + 10, each.entity) for each in parts] == [each[:3] for each in whole]
        assert parts[0].start == 0 and len(parts) == 2


DRAW = random.Random(5)
TOKENS = ["ghp_" + "".join(DRAW.choices(string.ascii_letters + string.digits, k=36)) for _ in range(3_000)]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["password: {} ", "api_key={}\n", '"secret": "{}", '])
def test_named_tokens_are_judged_once_so_that_a_text_of_them_is_scanned_in_full(form: str) -> None:
    text = "".join(form.format(token) for token in TOKENS)
    assert [text[each.start : each.end] for findings in Scanner().scan_parts(text, None) for each in findings] == TOKENS


@pytest.mark.parametrize("behind", ["", ".", "==", "-and-more-1x", "/4711", ")"])
def test_a_token_is_masked_as_before_whatever_follows_it(behind: str) -> None:
    for token in TOKENS[:50]:
        text = f"the password: {token}{behind} is old"
        assert token in "".join(text[each.start : each.end] for each in Scanner().scan(text))
