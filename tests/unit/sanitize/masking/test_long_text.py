"""Long texts are masked as short ones are, without a second copy of what stays."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.config.sanitize_settings import Sanitize
from gateway.long_texts import LONG_CHARS
from gateway.sanitize.masking.long_text import Kept, masked_utf8
from gateway.sanitize.masking.policy import actions
from gateway.sanitize.masking.slot_masker import SlotMasker
from gateway.sanitize.scan.scanner import Scanner
from gateway.texts import TextSlot


@pytest.mark.slow
@given(st.lists(st.integers(0, 3 * LONG_CHARS), min_size=2, max_size=9), st.sampled_from(["a", "я", "😀", "\ud800"]))
def test_what_stays_is_the_same_as_when_its_pieces_are_joined(places: list[int], letter: str) -> None:
    text = letter + "0123456789" * (3 * LONG_CHARS // 10)
    places = sorted(min(place, len(text)) for place in places)
    starts = [0, *places[1::2]]
    kept: list[Kept] = [
        (start, end, "[X]") for start, end in zip(starts, [*places[::2], len(text)], strict=False) if start <= end
    ]
    joined = "".join(text[start:end] + mask for start, end, mask in kept)
    masked = masked_utf8(text, iter(kept))
    if kept[0][:2] == (0, len(text)):
        assert masked is None
    else:
        assert masked is not None and masked.decode("utf-8", "surrogatepass") == joined


def test_a_wide_text_whose_last_word_is_masked_is_never_there_twice() -> None:
    masker = SlotMasker(Scanner(), actions(Sanitize(), "requests"), lambda entity, action, where: None)
    masker.clean(TextSlot({"content": "password: hunter2hunter2"}, "content", "content"))
    tracemalloc.start()
    try:
        holder = {"content": "😀" + "words " * 300_000 + "password: hunter2hunter2"}
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        assert masker.clean(TextSlot(holder, "content", "content"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert holder["content"].endswith("password: [REDACTED:SECRET]")
    assert peak < 1.85 * size  # its UTF-8 is a quarter, decoding reserves another; a copy would be a whole one more
