"""The tokenizer cuts texts as BERT's own does, and is bounded."""

import hashlib
from importlib import resources
from pathlib import Path

import pytest

from gateway.engines.embedding.worker import WordPiece, load_vocabulary

TEXTS = [
    "",
    "How do I kill a running query in PostgreSQL?",
    "pg_terminate_backend(pid) -> boolean; see `git-stash(1)` … “quoted” — dash",
    "Café NAÏVE Ǻngström İstanbul Straße ﬁne",
    "東京 is 도쿄, Москва is Μόσχα and بيروت",
    "tabs\tnew\nlines\r\nnon\u00a0breaking zero\u200bwidth soft\u00adhyphen \ufffd \x00 \x1f",
    "x" * 101 + " " + "y" * 100 + " supercalifragilisticexpialidocious",
    "$5 + 3€ ≠ 8¥ ^caret ~tilde |pipe <tag> =equal 🎉 ½ ²",
    "word " * 400,
]


@pytest.fixture(scope="module")
def wordpiece() -> WordPiece:
    return WordPiece(load_vocabulary())


def test_the_vocabulary_is_the_published_one() -> None:
    file = resources.files("gateway.engines.embedding").joinpath("vocabulary.txt")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert digest == "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


def test_words_become_their_longest_pieces_between_the_marks_of_beginning_and_end(wordpiece: WordPiece) -> None:
    vocabulary = load_vocabulary()
    tokens, is_cut = wordpiece.encode("Unaffable, tokenizers!", 32)
    pieces = [next(piece for piece, number in vocabulary.items() if number == token) for token in tokens]
    assert pieces == ["[CLS]", "una", "##ffa", "##ble", ",", "token", "##izer", "##s", "!", "[SEP]"]
    assert not is_cut


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_cut_as_the_reference_cuts_them(wordpiece: WordPiece, text: str, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="the reference is not installed")
    reference = tokenizers.BertWordPieceTokenizer(str(_as_lines(tmp_path)), lowercase=True)
    reference.enable_truncation(128)
    assert wordpiece.encode(text, 128)[0] == reference.encode(text).ids


def _as_lines(folder: Path) -> Path:
    path = folder / "vocabulary.txt"
    path.write_text("\n".join(load_vocabulary()) + "\n", encoding="utf-8")
    return path


def test_a_long_text_is_cut_and_said_to_be(wordpiece: WordPiece) -> None:
    tokens, is_cut = wordpiece.encode("a b c d e f g h", 5)
    assert (len(tokens), is_cut) == (5, True)
    assert tokens[-1] == load_vocabulary()["[SEP]"]
    tokens, is_cut = wordpiece.encode(" " * 1_000_000 + "late", 64)
    assert (len(tokens), is_cut) == (2, True)
