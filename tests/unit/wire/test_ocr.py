"""Prompts, blocks, special tokens and repetition loops, as text."""

import random

import pytest

from gateway.wire import ocr as wire
from gateway.wire.repetition import LoopGuard, cut_loop, find_loop


@pytest.mark.parametrize("mode", [mode for mode in wire.MODES if mode is not wire.CUSTOM], ids=lambda mode: mode.name)
def test_each_modes_own_prompt_is_recognised(mode: wire.PromptMode) -> None:
    assert wire.detect_mode(wire.build_prompt(mode, text="Total")) is mode


@pytest.mark.parametrize(
    ("prompt", "mode"),
    [
        ("free ocr", wire.FREE),
        ("<image>\nPlease do FREE OCR now", wire.FREE),
        ("Describe it", wire.DESCRIBE),
        ("<image>\n<|grounding|>OCR this image.", wire.MARKDOWN),
        ("<|grounding|>Locate <|ref|>x<|/ref|>", wire.LOCATE),
        ("Parse the figure.", wire.CUSTOM),
        ("<|ref|> without an end", wire.CUSTOM),
    ],
)
def test_the_mode_follows_the_tokens_then_the_words(prompt: str, mode: wire.PromptMode) -> None:
    assert wire.detect_mode(prompt) is mode


def test_the_sought_text_is_what_stands_between_the_tokens() -> None:
    assert wire.sought_text("<image>\nLocate <|ref|> Grand total <|/ref|> in the image.") == "Grand total"
    assert wire.sought_text("Locate it") == ""


def test_the_image_placeholder_is_stripped_or_kept_once() -> None:
    assert wire.strip_image_token("<image>\nFree OCR.") == "Free OCR."
    assert wire.keep_image_token("Free OCR.<image>") == "<image>\nFree OCR."


def test_blocks_are_read_with_and_without_the_models_tokens() -> None:
    raw = (
        "<|ref|>title<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>\n# Report\n\n"
        "text[[5, 6, 7, 8], [9, 9, 10, 999]]\na\nb\n\nimage[[0,0,1,1]]"
    )
    assert wire.parse_blocks(raw) == [
        wire.GroundedBlock("title", ((1, 2, 3, 4),), "# Report"),
        wire.GroundedBlock("text", ((5, 6, 7, 8), (9, 9, 10, 999)), "a\nb"),
        wire.GroundedBlock("image", ((0, 0, 1, 1),)),
    ]


def test_a_block_written_is_a_block_read() -> None:
    block = wire.GroundedBlock("table", ((0, 1, 998, 999),), "<table><tr><td>a [[1]]</td></tr></table>")
    assert wire.parse_blocks(wire.format_block(block)) == [block]


def test_special_tokens_are_removed_however_the_stream_is_cut() -> None:
    text = "a < b <|ref|>title<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>\n# x <| y <|grounding|>z<"
    want = wire.strip_special_tokens(text)
    rng = random.Random(4)
    for _ in range(200):
        cuts = sorted(rng.sample(range(1, len(text)), 9))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        cleaner = wire.SpecialTokenFilter()
        assert "".join([cleaner.feed(piece) for piece in pieces]) + cleaner.finish() == want


def test_a_looping_tail_is_cut_to_one_copy_when_the_limit_stopped_the_model() -> None:
    text = "Invoice 7\n" + "Total 1.00\n" * 70
    assert cut_loop(text, stopped_by_limit=True) == ("Invoice 7\nTotal 1.00", True)


def test_a_short_repetition_at_a_natural_end_is_left_alone() -> None:
    text = "Rows:\n" + "0.00 0.00\n" * 70
    assert cut_loop(text, stopped_by_limit=False) == (text, False)


def test_a_long_loop_is_cut_even_at_a_natural_end() -> None:
    text, was_cut = cut_loop("x" + "ab" * 1500, stopped_by_limit=False)
    assert (text, was_cut) == ("xab", True)


def test_prose_is_no_loop() -> None:
    rng = random.Random(1)
    text = " ".join(rng.choice(["alpha", "beta", "gamma", "delta"]) for _ in range(900))
    assert find_loop(text) is None
    assert cut_loop(text, stopped_by_limit=True) == (text, False)


def test_a_streamed_loop_ends_before_it_has_shown_much() -> None:
    guard = LoopGuard()
    shown = "".join(guard.feed(piece) for piece in ["Head\n", *["same line again\n"] * 400])
    assert guard.looping
    assert len(shown) < 1000


def test_a_streamed_repetition_that_stops_is_shown_whole() -> None:
    guard = LoopGuard()
    pieces = ["Head\n", *["cell | cell\n"] * 80, "The end of it."]
    shown = "".join(guard.feed(piece) for piece in pieces) + guard.finish(stopped_by_limit=False)
    assert not guard.looping
    assert shown == "".join(pieces)


def test_a_streamed_loop_cut_by_the_limit_loses_what_was_held_back() -> None:
    guard = LoopGuard()
    pieces = ["row of cells\n"] * 80
    shown = "".join(guard.feed(piece) for piece in pieces) + guard.finish(stopped_by_limit=True)
    assert len(shown) < len("".join(pieces))
