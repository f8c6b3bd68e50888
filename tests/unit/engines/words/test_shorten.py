"""Where a text is cut for the result budget: at paragraphs, and never so that a code fence is left open."""

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.engines.words.excerpt import shorten
from tests.support.markdown_fences import TEXTS, fences, open_fences

MARK = "[…]"


def test_a_cut_falls_at_a_paragraph_and_before_code_that_comes_late() -> None:
    text = "First paragraph.\n\n" + "Second one is here. " * 8 + "\n\n```python\n" + "x = 1\n\n" * 100 + "```\n\nEnd."
    assert shorten(text, 300) == text[: text.index("```")].rstrip() + "\n\n" + MARK


@pytest.mark.parametrize("before", ["", "# Big c\n\n", "Intro:\n"])
def test_code_that_makes_up_the_text_is_given_as_far_as_it_fits(before: str) -> None:
    short = shorten(before + "```python\n" + "x = 1\n" * 200 + "```\n\nAfter.", 100)
    assert short == before + "```python\n" + "x = 1\n" * short.count("x = 1") + "```\n\n" + MARK
    assert 100 - len("x = 1\n") < len(short) <= 100


def test_a_fence_that_ends_within_the_room_is_kept_whole() -> None:
    short = shorten("```sh\nmake\n```\n" + "Words after it go on and on. " * 20, 60)
    assert short.startswith("```sh\nmake\n```\nWords after") and short.count("```") == 2


@pytest.mark.parametrize(
    ("opening", "line", "closing"),
    [
        ("```", "x = 1", "```"),
        ("~~~ python", "x = 1", "~~~"),
        ("`````md", "```", "`````"),
        ("~~~", "```", "~~~"),
        ("   ```", "x = 1", "   ```"),
        ("- ```", "  x = 1", "  ```"),
        ("- item\n\n      code\n\n  ```", "  x = 1", "  ```"),
        ("10. - ~~~", "      x = 1", "      ~~~"),
        ("> ```", "> x = 1", "> ```"),
        ("> - a\n>\n>   ```", ">   x = 1", ">   ```"),
        ("- a\n\n  > ```", "  > x = 1", "  > ```"),
    ],
)
def test_a_fence_is_closed_by_its_own_marker_inside_what_holds_it(opening: str, line: str, closing: str) -> None:
    short = shorten(f"{opening}\n" + f"{line}\n" * 200 + f"{closing}\n\nAfter.", 120)
    assert short.startswith(opening) and short.endswith(f"{line}\n{closing}\n\n{MARK}") and len(short) <= 120
    assert open_fences(short) == 0 and len(fences(short)) == 1 and MARK not in fences(short)[0].content


@pytest.mark.parametrize(
    "start", ["    ```\n", "a ``` b\n", "- - -\n```` ` ````\n", "``` x `\n", "> ```\nno longer quoted\n"]
)
def test_what_only_looks_like_an_open_fence_is_not_closed(start: str) -> None:
    line = "words go on here\n"
    assert shorten(start + line * 50, 100) == start + line * ((100 - len(start) - len(MARK)) // len(line)) + "\n" + MARK


def test_a_fence_never_closed_and_one_long_line_of_code_are_cut_all_the_same() -> None:
    assert shorten("```\n" + "x = 1\n" * 90, 60).endswith(f"x = 1\n```\n\n{MARK}")
    short = shorten("# Data\n\n```json\n" + "[1]," * 5_000 + "\n```\n", 400)
    assert len(short) == 400 and short.endswith(f"\n```\n\n{MARK}") and short.count("[1]") > 80


@pytest.mark.parametrize("text", ["`" * 5_000 + "\ncode", "~~~" + "i" * 5_000, "```" + "i" * 5_000 + "`", "> " * 5_000])
def test_absurd_openings_leave_nothing_open(text: str) -> None:
    short = shorten(text, 100)
    assert short.endswith(MARK) and len(short) <= 100 and open_fences(short) == 0


def test_inline_code_that_a_cut_would_turn_into_a_fence_is_kept_as_far_as_it_fits() -> None:
    assert 55 <= len(shorten("```" + " a" * 90 + "``` and so on", 60)) <= 60


def test_the_end_of_code_is_an_end_as_good_as_a_paragraphs() -> None:
    code = "```\n" + "x\n" * 20 + "```\n"
    assert shorten(code + "prose goes here\n" * 50, 80) == f"{code}\n{MARK}"


@pytest.mark.slow
@settings(max_examples=400)
@given(TEXTS, st.integers(40, 250))
@example("```python\n" + "x = 1\n" * 200 + "```\n\nAfter.", 100)
@example("a\n" * 20 + "``` b" + " b" * 20 + "`", 60)
@example("```" + " a" * 90 + "`", 60)
@example("```\n" + "a" * 27 + "\n```b\n" + "c\n" * 50, 43)
def test_a_shortened_text_fits_and_leaves_no_fence_open(text: str, room: int) -> None:
    short = shorten(text, room)
    assert len(short) <= room
    if len(text) <= room:
        assert short == text
        return
    assert short.endswith(MARK) and open_fences(short) == 0
    kept = short.removesuffix(MARK).rstrip()
    assert text.startswith(kept) or text.startswith(kept[: kept.rindex("\n")].rstrip())


@given(st.text(alphabet="ab \n`~", max_size=60), st.integers(0, 39))
def test_in_a_tiny_room_too(text: str, room: int) -> None:
    short = shorten(text, room)
    assert len(short) <= room and (short == text or open_fences(short) == 0)


@pytest.mark.slow
def test_more_room_never_costs_a_whole_block_of_code() -> None:
    text = "# Title\n\n" + "".join(f"```\nstep {number}\n```\n\nThen the next one.\n\n" for number in range(20))
    kept = [shorten(text, room).count("step") for room in range(40, len(text))]
    assert all(later >= earlier - 1 for earlier, later in pairwise(kept)) and kept[-1] >= 18
