"""Words are counted in scripts that part them by blanks and in those that do not."""

import pytest

from gateway.engines.words.text import count_words, unparted_words


@pytest.mark.parametrize(
    ("text", "most", "count"),
    [
        ("", 5, 0),
        ("a b, c", 5, 3),
        ("a " * 50, 5, 5),
        ("依存関係の管理", 50, 3),
        ("Rustの公式ツール tool", 50, 4),
        ("漢", 9, 1),
    ],
)
def test_words_are_counted_up_to_a_bound(text: str, most: int, count: int) -> None:
    assert count_words(text, most) == count


def test_texts_with_blanks_have_no_words_beyond_those() -> None:
    assert unparted_words("The river had risen, c'était déjà tard, уже поздно") == 0
