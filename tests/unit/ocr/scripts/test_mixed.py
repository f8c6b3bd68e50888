"""Lines in scripts that the models do not know: read with language data, or left out and named; others stay."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.scripts import mixed as guess
from gateway.ocr.scripts import tesseract as packs
from gateway.ocr.scripts.mixed import LACKING_FIT, is_suspect, resolve, sample_of
from tests.support.paths import GOLDEN

CYRILLIC = "KopeHOBata nanKa He Moxe Aa ce npevMeHyBa"
"""What the first reader makes of Bulgarian."""
GREEK = "Mεtakivnon πapaθúpou oto xúpo εpyaoiaç tns Kwδukortoinons"
VIETNAMESE = "đā đưa ra nhiu hơn mt gói ti lên, đang s dng cái đ"
LATIN = "The harbour office opens at nine in the morning"
BULGARIAN = {1: "Коренната папка не може да се премества", 2: "Вграден графичен обект"}
"""What stands there, by its place on the page."""


def line(text: str, number: int, fit: float = 0.99) -> Line:
    return Line(Rect(10, 30.0 * number, 400, 30.0 * number + 20), text=text, score=fit, fit=fit, is_read=True)


class Reader(packs.Tesseract):
    """Knows the text of each place."""

    def __init__(self, texts: dict[int, str], *languages: str) -> None:
        super().__init__(None, Path("absent"))
        self._texts, self._languages = texts, list(languages)
        self.tried: list[str] = []

    def read_line(self, gray: Any, rect: Rect, pack: packs.Pack, size: float, *, is_mixed: bool = True) -> Line:
        self.tried.append(pack.language)
        text = self._texts.get(round(rect.center_y / 30), "")
        return Line(rect, text=text, fit=0.9 if text else 0.0, is_read=True)

    def read_area(self, gray: Any, rect: Rect, pack: packs.Pack, size: float) -> list[Line]:
        return [line(text, number, 0.9) for number, text in self._texts.items()]


def test_a_misread_script_is_guessed_by_its_letters() -> None:
    guesses = {CYRILLIC: "Cyrillic", GREEK: "Greek", VIETNAMESE: packs.VIETNAMESE, LATIN: guess.LATIN}
    for text, script in {**guesses, "Ja zażółć gęślą jaźń, Příliš žluťoučký kůň": guess.LATIN}.items():
        assert guess.clear_guess(text) == script
    assert guess.ranked("12 345") == []


def test_sure_lines_are_not_suspect_and_doubtful_ones_are() -> None:
    assert not is_suspect([line(LATIN, number) for number in range(9)])
    assert is_suspect([line(CYRILLIC, number, 0.7) for number in range(9)])
    assert is_suspect([line(LATIN, number) for number in range(5)] + [line(CYRILLIC, 6, 0.7)])
    assert not is_suspect([line(LATIN, number) for number in range(5)] + [line("a=b", 6, 0.5)])
    assert is_suspect([line(VIETNAMESE, number) for number in range(3)])


def test_lines_are_read_by_the_data_that_reads_them_best_and_others_stay() -> None:
    lines = [line(LATIN, 0), *(line(CYRILLIC, number, 0.7) for number in (1, 2))]
    reader = Reader(BULGARIAN, "rus", "ell", "tha")
    resolved = resolve(lines, None, reader)
    assert [each.text for each in resolved.lines] == [LATIN, *BULGARIAN.values()] and resolved.unreadable == []
    assert set(reader.tried) == {"rus"}, "the likeliest script is tried first, and no other after a sure reading"


def test_a_clear_guess_is_not_given_up_for_data_that_is_surer_of_lines_that_were_cut_badly() -> None:
    class Unsure(Reader):
        def read_line(self, gray: Any, rect: Rect, pack: packs.Pack, size: float, *, is_mixed: bool = True) -> Line:
            fit = 0.74 if pack.language == "tha" else 0.65
            return Line(rect, text="ปลาฝญ" if pack.language == "tha" else "ООО ОВО", fit=fit, is_read=True)

    resolved = resolve([line(CYRILLIC, number, 0.7) for number in (1, 2)], None, Unsure(BULGARIAN, "rus", "ukr", "tha"))
    assert [each.text for each in resolved.lines] == list(BULGARIAN.values())


def test_vietnamese_without_its_data_keeps_its_text_and_loses_its_confidence() -> None:
    resolved = resolve([line(VIETNAMESE, number) for number in range(3)], None, None)
    assert all(each.text and each.fit <= LACKING_FIT for each in resolved.lines)
    assert "tesseract-ocr-vie" in resolved.unreadable[0][1]


def test_vietnamese_lines_on_a_page_in_english_are_named_and_the_english_ones_keep_their_confidence() -> None:
    lines = [*(line(LATIN, number) for number in range(4)), line(VIETNAMESE, 5), line(LATIN, 6)]
    assert is_suspect(lines)
    resolved = resolve(lines, None, None)
    assert [each.text for each in resolved.lines] == [each.text for each in lines]
    assert [each.fit <= LACKING_FIT for each in resolved.lines] == [False] * 4 + [True, False]
    assert [script for script, _ in resolved.unreadable] == [packs.VIETNAMESE]


def test_lines_of_other_latin_languages_and_of_dashes_are_not_vietnamese() -> None:
    czech, irish = "Žádný způsob, jak přečíst příliš žluťoučký", "Curtha i grích: fan go fóill agus bain triail eile as"
    for text in (
        czech,
        irish,
        "Não é possível ler o arquivo de configuração",
        "-----------------leituras-------------",
    ):
        assert not is_suspect([line(LATIN, 0), line(text, 1)]), text


PAGES = json.loads((GOLDEN / "ocr_scripts.json").read_text("utf-8"))
"""By a sentence: lines with their fit, as the first reader gives them; the texts that stay or are read by the data of a
`language`; and words of what is said of them.
"""


@pytest.mark.parametrize("sentence", PAGES)
def test_lines_of_other_scripts_are_read_left_out_or_kept_and_named(sentence: str) -> None:
    page = PAGES[sentence]
    lines = [line(text, number, fit) for number, (text, fit) in enumerate(page["lines"], 1)]
    known = page.get("read", dict(enumerate(page["texts"], 1)))
    resolved = resolve(lines, None, Reader(known, page["language"]) if "language" in page else None)
    told = " ".join(f"{script}: {warning}" for script, warning in resolved.unreadable)
    assert [each.text for each in resolved.lines] == page["texts"]
    assert page["texts"] != [text for text, _ in page["lines"]] or resolved.lines == lines
    assert [words for words in page["named"] if words not in told] == [] and bool(told) is bool(page["named"])
    assert "language" not in page or "package" not in told


def test_a_sample_is_spread_over_the_page() -> None:
    sample = sample_of([line(LATIN, number) for number in range(100)])
    assert 12 <= len(sample) <= 14 and sample[-1].rect.y1 > 90 * 30


def test_the_share_of_a_script_counts_its_letters_alone() -> None:
    shares = [packs.share_in(text, packs.BY_NAME["Cyrillic"]) for text in ("Привет 123!", "hello", "123")]
    assert shares == [1.0, 0.0, 0.0]


def test_the_folder_with_the_most_language_data_is_taken(tmp_path: Any) -> None:
    for folder, codes in (("4/tessdata", ("eng",)), ("5/tessdata", ("eng", "rus"))):
        (tmp_path / folder).mkdir(parents=True)
        for code in codes:
            (tmp_path / folder / f"{code}.traineddata").write_bytes(b"")
    folder_found = packs.data_folder((str(tmp_path), str(tmp_path / "absent")))
    assert folder_found == tmp_path / "5/tessdata"
    assert folder_found is not None and packs.installed(folder_found) == ["eng", "rus"]
    assert packs.data_folder((str(tmp_path / "absent"),)) is None
