"""Folding: both of its ways give the same bytes, and offsets lead back to the text."""

import random

from gateway.sanitize.folding import View, folded


def test_sparse_and_dense_texts_are_folded_alike() -> None:
    source = random.Random(5)
    plain = "plain words, " * 20
    for _ in range(300):
        odd = "".join(chr(source.choice((source.randrange(0x80, 0x3000), source.randrange(0x20000)))) for _ in range(4))
        assert folded(plain + odd) == plain.encode() + folded(odd)


def test_ideographs_are_letters_and_tags_are_dropped_wherever_they_lie() -> None:
    beyond = {"\U00020000": b"\2", "\U0002ffff": b"\2", "\U000dffff": b"\2", "\U000e0000": b"\1", "\U000e0fff": b"\1"}
    beyond |= {"\U000e1000": b"\2", "\U000f3a00": b"\2", "\U0010ffff": b"\2", "\ud800": b"\3", "?": b"?"}
    for text in (*beyond, "".join(beyond), "plain " * 50 + "".join(beyond)):
        assert folded(text) == b"".join(beyond.get(char, char.encode("utf-8", "replace")) for char in text)


def test_every_folded_byte_leads_back_to_the_character_it_came_from() -> None:
    source = random.Random(6)
    for _ in range(200):
        text = "".join(source.choice("ab1 é\u200b\u00ad４а한") for _ in range(30))
        view = View(text)
        for index in range(len(view.folded)):
            start, end = view.origin(index, index + 1)
            assert end == start + 1
            assert folded(text[start:end]) == view.folded[index : index + 1]
