"""Prompts, blocks, special tokens and repetition loops, as text."""

import random

import pytest

from gateway.wire import ocr as wire
from gateway.wire.repetition import MAX_PERIOD_CHARS, SUSPECTED, Loop, LoopGuard, cut_loop, find_loop


@pytest.mark.parametrize("mode", [mode for mode in wire.MODES if mode is not wire.CUSTOM], ids=lambda mode: mode.name)
def test_each_modes_own_prompt_is_recognised(mode: wire.PromptMode) -> None:
    assert wire.detect_mode(wire.build_prompt(mode, text="Total")) is mode


MODES = [
    ("free ocr", wire.FREE), ("<image>\nPlease do FREE OCR now", wire.FREE), ("Describe it", wire.DESCRIBE),
    ("<image>\n<|grounding|>OCR this image.", wire.MARKDOWN), ("<|grounding|>Locate <|ref|>x<|/ref|>", wire.LOCATE),
    ("Parse the figure.", wire.CUSTOM), ("<|ref|> without an end", wire.CUSTOM),
]  # fmt: skip


@pytest.mark.parametrize(("prompt", "mode"), MODES)
def test_the_mode_follows_the_tokens_then_the_words(prompt: str, mode: wire.PromptMode) -> None:
    assert wire.detect_mode(prompt) is mode


def test_the_sought_text_is_what_stands_between_the_tokens() -> None:
    assert wire.sought_text("<image>\nLocate <|ref|> Grand total <|/ref|> in the image.") == "Grand total"
    assert wire.sought_text("Locate it") == ""


def test_the_image_placeholder_is_stripped_or_kept_once() -> None:
    assert wire.strip_image_token("<image>\nFree OCR.") == "Free OCR."
    assert wire.keep_image_token("Free OCR.<image>") == "<image>\nFree OCR."


def test_blocks_are_read_with_and_without_the_models_tokens() -> None:
    raw = "<|ref|>title<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>\n# Report\n\n"
    raw += "text[[5, 6, 7, 8], [9, 9, 10, 999]]\na\nb\n\nimage[[0,0,1,1]]"
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


SHORT = "Rows:\n" + "0.00 0.00\n" * 70
PROSE = " ".join(random.Random(1).choices(["alpha", "beta", "gamma", "delta"], k=900))


LOOPS = [
    pytest.param("Invoice 7\n" + "Total 1.00\n" * 70, True, "Invoice 7\nTotal 1.00", id="a tail, at the limit"),
    pytest.param(SHORT, False, SHORT, id="a short repetition at a natural end stays"),
    pytest.param("x" + "ab" * 1500, False, "xab", id="a long loop, even at a natural end"),
    pytest.param(PROSE, True, PROSE, id="prose is no loop"),
]


@pytest.mark.parametrize(("text", "stopped_by_limit", "left"), LOOPS)
def test_a_loop_is_cut_to_one_copy(text: str, stopped_by_limit: bool, left: str) -> None:
    assert cut_loop(text, stopped_by_limit=stopped_by_limit) == (left, left != text)


REPETITIONS = [
    pytest.param(["Head\n", *["same line\n"] * 400], True, False, 1, 1000, id="a loop ends before it shows much"),
    pytest.param(["Head\n", *["cell | cell\n"] * 80, "Its end."], False, False, 973, 973, id="one that stops stays"),
    pytest.param(["row of cells\n"] * 80, False, True, 1, 1039, id="at the limit what was held back is lost"),
]


@pytest.mark.parametrize(("pieces", "looping", "at_limit", "least", "most"), REPETITIONS)
def test_a_streamed_repetition_is_held_back_until_it_is_no_loop(
    pieces: list[str], looping: bool, at_limit: bool, least: int, most: int
) -> None:
    guard = LoopGuard()
    shown = "".join(guard.feed(piece) for piece in pieces)
    assert guard.looping is looping
    shown += "" if looping else guard.finish(stopped_by_limit=at_limit)
    assert least <= len(shown) <= most and "".join(pieces).startswith(shown)


def naive(text: str) -> Loop | None:
    """Compares characters one by one, for each period."""
    reach = SUSPECTED[1]
    for period in range(1, MAX_PERIOD_CHARS + 1):
        start = len(text) - 1
        while start >= 0 and (start + period >= len(text) or text[start] == text[start + period]):
            start -= 1
        start += 1
        if len(text) >= reach and start <= len(text) - reach:
            return Loop(start, period, (len(text) - start) // period)
    return None


@pytest.mark.slow
def test_loops_are_those_that_comparing_characters_finds() -> None:
    chance, loops = random.Random(20261122), 0
    for _ in range(300):
        piece = "".join(chance.choices("ab| ", k=chance.randrange(1, 230)))
        text = "".join(chance.choices("ab| \n", k=chance.randrange(50)))
        text += piece * (chance.randrange(900) // len(piece) + 1)
        text += piece[: chance.randrange(len(piece))] + chance.choice(["", "", "x"])
        loop = find_loop(text)
        loops += loop is not None
        assert loop == naive(text)
    assert loops > 30
