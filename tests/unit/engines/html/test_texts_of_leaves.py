"""The text and its size of an element without children are those that XPath finds where there is a child."""

import pytest

from gateway.engines.html.tree import parse, raw_text, text_size


@pytest.mark.parametrize(
    "text", ["", " ", "one", " a \t b\n\nc ", "caf\u00e9\u00a0 \u3000x", "\u00a0", "a\u2003\u2003b "]
)
def test_a_leaf_has_the_text_and_the_size_that_it_has_beside_an_empty_child(text: str) -> None:
    leaf = parse(f"<body><p>{text}</p></body>").find("body/p")
    with_child = parse(f"<body><p>{text}<b></b></p></body>").find("body/p")
    assert len(leaf) == 0
    assert len(with_child) == 1
    assert raw_text(leaf) == raw_text(with_child)
    assert text_size(leaf) == text_size(with_child)
