"""Words of a text: stems in other languages than English, stop words, letters of other scripts, and their count."""

import pytest

from gateway.engines.words import text as words


@pytest.mark.parametrize(
    "forms",
    [
        "выпуск выпуска выпуску выпуском выпуски выпусков", "обновление обновления обновлений обновлениями",
        "установленный установленные установленных", "Paket Pakete Paketen", "Einstellung Einstellungen einstellen",
        "Datei Dateien", "Zeitzone Zeitzonen", "fichier fichiers", "archivo archivos", "αρχείο αρχεία αρχείων",
    ],
)  # fmt: skip
def test_forms_of_a_word_share_a_stem(forms: str) -> None:
    assert len({words.stem_of(word) for word in words.WORD.findall(words.fold(forms))}) == 1


@pytest.mark.parametrize(
    "text",
    [
        "The package is removed with all of its settings, and the list of files is read again.",
        "Under the MIT licence; DES and the Los Angeles office, de la Cruz et al., von Neumann.",
        "apt-get remove --purge nginx kubectl systemd",
        "",
    ],
)
def test_an_english_text_has_no_stems(text: str) -> None:
    assert words.text_stems(words.fold(text)) == []


def test_a_german_text_has_stems_and_a_russian_name_in_an_english_one_as_well() -> None:
    german = words.text_stems(words.fold("Wie man die Pakete entfernt, die nicht mehr mit dem System kommen."))
    assert words.stem_of("paketen") in german and all(each.endswith(words.MARK) for each in german)
    assert words.text_stems(words.fold("The city of Москва is the capital.")) == [words.stem_of("москвы")]


def test_of_a_query_words_in_other_letters_have_stems_and_latin_ones_that_may_be_foreign() -> None:
    assert words.query_stems(["пакеты", "apt", "remove2", "install"], ()) == (words.stem_of("пакет"),)
    assert words.query_stems(["pakete", "paket"], ["pakete", "paket"]) == (words.stem_of("paket"),)


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
def test_a_foreign_stop_word_is_one_only_in_a_query_of_its_language(query: str, left: list[str]) -> None:
    asked = query.split()
    stops = words.foreign_stop_words(asked)
    assert [word for word in asked if word not in stops] == left


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
    assert words.fold(text) == words.fold(folded) == words.fold(words.fold(text))
    if not text.isascii() and words.bigrams(folded):
        assert words.fold(text) == folded and words.bigrams(words.fold(text))


TEXTS = (
    "Caching caches; the cached file's entries were agreed upon, and flies fly.",
    "L’eau de l'index et l’été",
    "日本語の検索 and abc日本 mixed",
    "to be or not to be",
    "eeee eee seeing yes",
    "",
)


@pytest.mark.parametrize("text", TEXTS)
def test_terms_among_some_are_those_of_the_text(text: str) -> None:
    all_terms = set(words.terms(text))
    others = {"cach", "zebra", "日本", "be", "", "e"}
    for wanted in (all_terms, others, all_terms | others, {each for each in all_terms if each.isascii()}, set()):
        assert words.terms_among(words.words_of(text), wanted) == all_terms & wanted


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
    assert words.count_words(text, most) == count


def test_texts_with_blanks_have_no_words_beyond_those() -> None:
    assert words.unparted_words("The river had risen, c'était déjà tard, уже поздно") == 0


def test_stems_and_bigrams() -> None:
    stem = words.stem
    assert stem("crawling") == stem("crawled") == stem("crawls") and stem("caches") == stem("cache")
    assert words.terms("The crawler's caches") == [stem("crawler"), stem("caches")]
    assert words.bigrams("语言模型 x 中") == ["语言", "言模", "模型", "中"]
