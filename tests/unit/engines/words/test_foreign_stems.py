"""Forms of one word in another language share a stem; English texts have none."""

import pytest

from gateway.engines.words.text import MARK, WORD, fold, query_stems, stem_of, text_stems


@pytest.mark.parametrize(
    "forms",
    [
        "выпуск выпуска выпуску выпуском выпуски выпусков",
        "обновление обновления обновлений обновлениями",
        "установленный установленные установленных",
        "Paket Pakete Paketen",
        "Einstellung Einstellungen einstellen",
        "Datei Dateien",
        "Zeitzone Zeitzonen",
        "fichier fichiers",
        "archivo archivos",
        "αρχείο αρχεία αρχείων",
    ],
)
def test_forms_of_a_word_share_a_stem(forms: str) -> None:
    assert len({stem_of(word) for word in WORD.findall(fold(forms))}) == 1


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
    assert text_stems(fold(text)) == []


def test_a_german_text_has_stems_and_a_russian_name_in_an_english_one_as_well() -> None:
    german = text_stems(fold("Wie man die Pakete entfernt, die nicht mehr mit dem System kommen."))
    assert stem_of("paketen") in german and all(each.endswith(MARK) for each in german)
    assert text_stems(fold("The city of Москва is the capital.")) == [stem_of("москвы")]


def test_of_a_query_words_in_other_letters_have_stems_and_latin_ones_that_may_be_foreign() -> None:
    assert query_stems(["пакеты", "apt", "remove2", "install"], ()) == (stem_of("пакет"),)
    assert query_stems(["pakete", "paket"], ["pakete", "paket"]) == (stem_of("paket"),)
