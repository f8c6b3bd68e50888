"""Lines in scripts that the models do not know: read with language data, or left out and named; others stay."""

from pathlib import Path
from typing import Any

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.scripts import mixed as guess
from gateway.ocr.scripts import tesseract as packs
from gateway.ocr.scripts.mixed import LACKING_FIT, is_suspect, resolve, sample_of

CYRILLIC = "KopeHOBata nanKa He Moxe Aa ce npevMeHyBa"
"""What the first reader makes of Bulgarian."""
GREEK = "Mεtakivnon πapaθúpou oto xúpo εpyaoiaç tns Kwδukortoinons"
VIETNAMESE = "đā đưa ra nhiu hơn mt gói ti lên, đang s dng cái đ"
LATIN = "The harbour office opens at nine in the morning"
BULGARIAN = {1: "Коренната папка не може да се премества", 2: "Вграден графичен обект"}
"""What stands there, by its place on the page."""


def line(text: str, number: int, fit: float = 0.99) -> Line:
    rect = Rect(10, 30.0 * number, 400, 30.0 * number + 20)
    return Line(rect, text=text, score=fit, fit=fit, is_read=True)


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


def test_without_language_data_the_text_is_left_out_and_the_package_named() -> None:
    lines = [line(LATIN, 0), *(line(CYRILLIC, number, 0.7) for number in (1, 2))]
    resolved = resolve(lines, None, None)
    assert [each.text for each in resolved.lines] == [LATIN, "", ""]
    [(script, warning)] = resolved.unreadable
    assert script == "Cyrillic" and "ocr-scripts" in warning and "tesseract-ocr-rus" in warning


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

    lines = [line(CYRILLIC, number, 0.7) for number in (1, 2)]
    resolved = resolve(lines, None, Unsure(BULGARIAN, "rus", "ukr", "tha"))
    assert [each.text for each in resolved.lines] == list(BULGARIAN.values())


def test_latin_words_that_the_first_reader_saw_too_do_not_speak_against_a_script() -> None:
    texts = dict.fromkeys((1, 2), "Сервер PostgreSQL Harbour Street office ответил")
    lines = [line("KopeHOBata PostgreSQL Harbour Street office nanKa", number, 0.7) for number in (1, 2)]
    resolved = resolve(lines, None, Reader(texts, "rus"))
    assert [each.text for each in resolved.lines] == list(texts.values()), "two letters in five are Cyrillic"


def test_text_that_the_installed_data_cannot_read_is_left_out_without_naming_its_package() -> None:
    resolved = resolve([line(CYRILLIC, number, 0.7) for number in (1, 2)], None, Reader({}, "rus"))
    assert [each.text for each in resolved.lines] == ["", ""]
    [(_, warning)] = resolved.unreadable
    assert "could not be read" in warning and "package" not in warning


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


def test_a_long_line_of_which_only_its_full_stops_were_read_is_left_out_with_the_others() -> None:
    lines = [line(CYRILLIC, 0, 0.7), line(".  , .", 1, 0.98)]
    assert [each.text for each in resolve(lines, None, None).lines] == ["", ""]


def test_lines_with_letters_of_the_script_that_fit_are_left_out_with_the_others() -> None:
    lines = [line(LATIN, 0), line(GREEK, 1, 0.7), line("που καθυστρησε στα σνορα", 2, 0.94)]
    assert [each.text for each in resolve(lines, None, None).lines] == [LATIN, "", ""]


def test_a_short_text_is_left_out_if_it_is_sure_and_else_kept_and_named() -> None:
    korean = resolve([line("咎卫卫对", 0, 0.6), line("C吕否召号劉皆叫以号叫gLC.", 1, 0.4)], None, None)
    assert [each.text for each in korean.lines] == ["", ""] and "tesseract-ocr-kor" in korean.unreadable[0][1]
    cyrillic = resolve([line("OTuët o pa6ore cknaAa", 0, 0.8)], None, None)
    assert cyrillic.lines[0].text
    assert "may be in Cyrillic" in cyrillic.unreadable[0][1] and "tesseract-ocr-rus" in cyrillic.unreadable[0][1]
    assert resolve([line("7 204,50 @", 0, 0.5)], None, None).unreadable == []


def test_blurred_chinese_is_not_taken_for_misread_korean_and_a_bad_print_in_latin_letters_stays() -> None:
    chinese = "上個月倉庫收到三百二十箱紙和四十盒筆除了一批貨物因文件錯誤其他貨物都到達"
    for text, fit in ((chinese, 0.7), ("Tlie harhour oflice opens at mine in tlie rnorning", 0.6)):
        worn = [line(text, number, fit) for number in range(4)]
        assert resolve(worn, None, None).lines == worn


def test_a_sample_is_spread_over_the_page() -> None:
    lines = [line(LATIN, number) for number in range(100)]
    sample = sample_of(lines)
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
