"""How a page is cut into pieces: prose, code, tables."""

import pytest
from hypothesis import given, settings

from gateway.engines.extract.chunks import blocks, split
from tests.support.markdown_fences import TEXTS, fences, open_fences

CODE = "\n".join(f"x = {number}" for number in range(120))


@pytest.mark.parametrize(
    ("before", "opening", "closing", "after"),
    [
        ("", "```python", "```", ""),
        ("Intro:\n", "```python", "```", "\nAnd more words."),
        ("", "~~~~", "~~~~~", ""),
        ("", "   ```", "```", "\n" + "words " * 100),
    ],
)
def test_code_that_is_cut_is_fenced_in_every_piece(before: str, opening: str, closing: str, after: str) -> None:
    pieces = [chunk.text for chunk in split(f"{before}{opening}\n{CODE}\n{closing}{after}")]
    code = [fence.content for piece in pieces for fence in fences(piece)]
    assert "".join(code) == CODE + "\n" and len(code) > 1
    assert all(len(piece) <= 500 and open_fences(piece) == 0 for piece in pieces)


def test_a_fence_that_is_never_closed_loses_and_repeats_no_line() -> None:
    pieces = [chunk.text for chunk in split(f"```\n{CODE}")]
    assert "".join(fence.content for piece in pieces for fence in fences(piece)) == CODE + "\n"


def test_indented_code_and_inline_code_open_no_fence() -> None:
    assert blocks("    ```\n\na") == ["    ```", "a"]
    assert blocks("``` a `\n\nb") == ["``` a `", "b"]
    assert blocks("````\n```\n\n````\n\nb") == ["````\n```\n\n````", "b"]
    assert blocks("> ```\n> a\n\nb") == ["> ```\n> a", "b"]


@settings(deadline=None)
@given(TEXTS)
def test_blocks_lose_nothing_but_blank_lines(text: str) -> None:
    text = text.replace("\r\n", "\n")
    lines = [line for block in blocks(text) for line in block.split("\n") if line.strip()]
    assert lines == [line for line in text.split("\n") if line.strip()]
