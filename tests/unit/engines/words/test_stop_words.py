"""Words that say nothing of a subject, in other languages; letters of other scripts."""

import pytest

from gateway.engines.words.text import bigrams, fold, foreign_stop_words


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("wie lange ist die kundigungsfrist", ["lange", "kundigungsfrist"]),
        ("comment restaurer une sauvegarde de la base", ["restaurer", "sauvegarde", "base"]),
        ("donde puedo hacer una copia", ["copia"]),
        ("process does not die after a war", ["process", "does", "not", "die", "after", "a", "war"]),
        ("locale de en la", ["locale", "de", "en", "la"]),
        ("pour into a sans serif font", ["pour", "into", "a", "sans", "serif", "font"]),
    ],
)
def test_a_word_is_a_stop_word_of_another_language_only_in_a_query_of_that_language(
    query: str, left: list[str]
) -> None:
    words = query.split()
    stops = foreign_stop_words(words)
    assert [word for word in words if word not in stops] == left


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Größe", "große"),
        ("É", "e"),
        ("グッド", "グッド"),
        ("ﾒﾓﾘ", "メモリ"),
        ("ｸﾞﾙｰﾌﾟ", "グループ"),
        ("한국어", "한국어"),
    ],
)
def test_folding_takes_accents_away_and_leaves_kana_and_hangul_whole(text: str, folded: str) -> None:
    assert fold(text) == fold(folded) == fold(fold(text))
    if not text.isascii() and bigrams(folded):
        assert fold(text) == folded and bigrams(fold(text))
