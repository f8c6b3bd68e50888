"""Texts full of candidates: nothing hides among them, they cost what their length allows; ordinary ones are judged."""

import base64
import random
from functools import partial

import pytest

from bench.pii_fuzz import new_unit, text_of
from bench.pii_rows import ORDINARY, SECRET
from gateway.sanitize.scan.fallback_mask import mask_all_but_words
from gateway.sanitize.scan.scanner import Scanner
from gateway.sanitize.text.findings import masked
from gateway.sanitize.text.folding import View
from tests.support.cpu_time import takes_less

SCANNER = Scanner()
CARD = "4539148803436467"
VALUES = {
    "card": CARD,
    "iban": "DE75512108001245126199",
    "mail": "ann.lee@corp-mail.net",
    "key": "ghp_" + "Zx9Kq2Lm8Pw4" * 3,
    "phone": "+49 30 901820",
    "id": "PESEL 44051401359",
    "password": "password: Hq7!mmZ29x",
    "spelt": "jane at example dot org",
    "base64": base64.b64encode(f"card {CARD}".encode()).decode(),
    "percent": "".join(f"%{byte:02x}" for byte in b"ann.lee@corp-mail.net"),
    "base64 twice": base64.b64encode(base64.b64encode(f"it is {CARD}".encode())).decode(),
    "entities": "".join(f"&#{ord(char)};" for char in CARD),
}
FILLERS = (
    "123+1411111111111+yz 12_yz=00  0x `pin +123-45-6%41%789 ",
    "call +44 7700 900123 dni 12345678 key: a1%41 jane@x.org ",
    "password=&#65;b1 2a01:4f8::1-%2e tin 12 34 56 ",
    "4539 1488 0343 6468 \\u0041%41 x=41 YWJjZGVmZ2hpamtsbW5vcA== ",
)


@pytest.mark.slow
@pytest.mark.parametrize("filler", FILLERS)
@pytest.mark.parametrize("name", VALUES)
def test_a_value_amid_filler_is_masked_wherever_it_stands(name: str, filler: str) -> None:
    value = VALUES[name]
    kept = value.rpartition(" ")[2] if name in ("id", "password") else value
    rows = [filler] * (100_000 // len(filler))
    for place in (0, len(rows) // 2, len(rows)):
        text = masked_of("\n".join([*rows[:place], value, *rows[place:]]))
        assert kept not in text, place


def masked_of(text: str) -> str:
    return masked(text, SCANNER.scan_uncached(text))


@pytest.mark.slow
def test_what_stands_in_for_judging_covers_whatever_the_detectors_find() -> None:
    source = random.Random(11)
    for _ in range(400):
        text = text_of(new_unit(source), True, 1200)
        view = View(text)
        covered = bytearray(len(text))
        for start, end, *_ in mask_all_but_words(view):
            first, last = view.origin(start, end)
            covered[first:last] = b"\1" * (last - first)
        for start, end, entity, _ in SCANNER.scan_uncached(text):
            assert all(covered[start:end]), (entity, text[start:end])


SCRAPS = (
    "the", "Report", "a", "dot", "at", "phone", "ext", "password", "is", "key", "de", "DE89", "GB82", "WEST",
    "tin", "vat", "id number", "bar baz", '"', '"', ", ", ": ", " = ", "\n", "  ", "12", "1234", "12345678",
    "+44 20 7946", "<b>", "%41", "&quot;", "=41", "://", "a:b@", '"abcdefghij"', "(", ")", ". ", "-", "_",
    "jane@x.org", "[at]", "AB", "X", "bearer ", "4539 1488 0343 6467", "--user ", 'password="Correcthorse"',
    "AKIA", "Secretly", "foo",
)  # fmt: skip


@pytest.mark.slow
def test_words_that_are_kept_unjudged_are_part_of_no_finding_whatever_stands_beside_them() -> None:
    source = random.Random(8)
    for _ in range(300):
        text = "".join(source.choice(SCRAPS) + source.choice(("", " ", " ", " ", ",", "\n")) for _ in range(200))
        covered = bytearray(len(text))
        for start, end, *_ in mask_all_but_words(View(text)):
            covered[start:end] = b"\1" * (end - start)
        for start, end, entity, _ in SCANNER.scan_uncached(text):
            assert all(covered[start:end]), (entity, text[start:end])
    words = "The river and the old bridge near the garden were found by people in late winter"
    assert [*mask_all_but_words(View(words))] == []


def test_prose_in_a_crowded_text_stays_and_masking_it_again_changes_nothing() -> None:
    prose = "The committee met in March to discuss the harvest and nobody expected that the decision would be so easy. "
    text = FILLERS[0] * 500 + "\n" + prose * 3 + "\n" + FILLERS[1] * 500
    once = masked_of(text)
    assert "in March to discuss the harvest and nobody expected that the decision would" in once
    assert len(once) < len(text) / 20
    assert masked_of(once) == once


@pytest.mark.slow
@pytest.mark.parametrize("kind", ORDINARY)
def test_dense_tables_lists_and_logs_are_judged_and_not_masked_as_a_whole(kind: str) -> None:
    source = random.Random(kind)
    rows = "".join(ORDINARY[kind](source) for _ in range(3000))[:100_000]
    findings = SCANNER.scan_uncached(rows)
    assert sum(finding.entity == "SECRET" for finding in findings) == 0
    assert all(finding.end - finding.start < 80 for finding in findings)


def test_settings_that_are_nothing_but_secrets_lose_the_secrets_and_keep_their_names() -> None:
    source = random.Random(4)
    for size in (2_000, 20_000, 100_000):
        rows = "".join(SECRET(source) for _ in range(size // 70))[:size]
        once = masked_of(rows)
        assert once.count("HOST=10.0.0.") > 0.99 * rows.count("HOST=10.0.0.")
        assert once.count("_PASSWORD=[REDACTED:SECRET]") > size // 100
        assert once.count("_TOKEN=[REDACTED:SECRET]") > 0.95 * rows.count("_TOKEN=")


@pytest.mark.slow
def test_the_slowest_texts_known_cost_what_their_length_allows() -> None:
    for filler in FILLERS:
        text = (filler * 100_000)[:100_000]
        assert takes_less(0.5, partial(SCANNER.scan_uncached, text)), filler
