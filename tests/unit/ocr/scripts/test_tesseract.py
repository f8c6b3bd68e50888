"""Tesseract's readings as lines: places of the page, true spaces, logical order. With language data of the system."""

from contextlib import closing
from pathlib import Path

import numpy
import pytest
from PIL import Image, ImageDraw

from gateway.geometry.boxes import Rect
from gateway.ocr.scripts import tesseract as packs
from gateway.ocr.scripts.tesseract import Tesseract, load_tesseract, read_lines
from gateway.ocr.server.engine import OcrEngine
from gateway.wire.ocr import FREE
from tests.support.ocr_lines import Pixels
from tests.support.ocr_pages import font, png

ROW = "5\t1\t1\t1\t{line}\t{word}\t{left}\t{top}\t{width}\t10\t{confidence}\t{text}"


def rows(*words: tuple[int, int, int, str]) -> str:
    """TSV of `(line, left, width, text)`."""
    head = "4\t1\t1\t1\t1\t0\t0\t0\t100\t10\t-1\t"
    listed = (
        ROW.format(line=line, word=number, left=left, top=20 * line, width=width, confidence=90, text=text)
        for number, (line, left, width, text) in enumerate(words)
    )
    return "\n".join([head, *listed])


def test_words_become_lines_with_their_place_on_the_page() -> None:
    read = rows((1, 5, 20, "one"), (1, 30, 20, "two"), (2, 5, 30, "three"))
    [first, second] = read_lines(read, "one two\n\nthree\n", 100, 50)
    assert (first.text, first.rect, round(first.fit, 2)) == ("one two", (105, 70, 150, 80), 0.9)
    assert [word.text for word in first.words] == ["one", "two"]
    assert second.text == "three" and second.is_read


def test_spaces_inside_words_are_those_of_the_text() -> None:
    [line] = read_lines(rows((1, 5, 8, "변"), (1, 14, 8, "경"), (1, 30, 20, "현재")), "변경 현재\n", 0, 0)
    assert line.text == "변경 현재"


def test_words_of_a_script_that_runs_left_lie_from_right_to_left() -> None:
    [line] = read_lines(rows((1, 60, 40, "שלום"), (1, 5, 40, "עולם")), "שלום עולם\n", 0, 0)
    assert line.words[0].rect.x1 > line.words[1].rect.x1


def test_places_of_an_enlarged_area_are_those_of_the_page_and_blank_ones_no_lines() -> None:
    assert read_lines(rows((1, 5, 20, " ")), "\n", 0, 0) == []
    [line] = read_lines(rows((1, 10, 40, "one")), "one\n", 100, 50, 2)
    assert line.rect == (105, 60, 125, 65)


class Recorded:
    """Stands for the module tesserocr: keeps the pictures it gets, and finds three rows, of two neighbours cut off."""

    class PSM:
        """The modes that are used."""

        SINGLE_BLOCK, AUTO = 6, 3

    def __init__(self) -> None:
        self.sizes: list[tuple[int, int]] = []
        self.languages: list[str] = []

    def PyTessBaseAPI(self, path: str, lang: str) -> "Recorded":
        self.languages.append(lang)
        return self

    def SetPageSegMode(self, mode: int) -> None: ...

    def SetImage(self, image: Image.Image) -> None:
        self.sizes.append(image.size)

    def Recognize(self) -> None: ...

    def Clear(self) -> None: ...

    def GetUTF8Text(self) -> str:
        return "aбовe\nкоренна\nbelow\n"

    def GetTSVText(self, page: int) -> str:
        return "\n".join(
            f"5\t1\t1\t1\t{number}\t1\t5\t{top}\t50\t{height}\t90\t{text}"
            for number, (top, height, text) in enumerate([(0, 6, "aбовe"), (22, 24, "коренна"), (62, 6, "below")])
        )


def test_small_letters_are_enlarged_and_pieces_of_the_neighbouring_rows_left_out(tmp_path: Path) -> None:
    for language in ("rus", "eng"):
        (tmp_path / f"{language}.traineddata").touch()
    page: Pixels = numpy.full((100, 100), 255, numpy.uint8)
    module = Recorded()
    reader = Tesseract(module, tmp_path)
    [pack] = reader.installed
    line = reader.read_line(page, Rect(0, 0, 79, 33), pack, 8.0)
    assert (line.text, module.sizes, module.languages) == ("коренна", [(160, 68)], ["rus+eng"])
    reader.read_area(page, Rect(0, 0, 79, 33), pack, 20.0)
    reader.read_line(page, Rect(0, 0, 79, 33), pack, 20.0, is_mixed=False)
    assert module.sizes[1:] == [(80, 34), (80, 34)] and module.languages == ["rus+eng", "rus"]


def test_without_the_extra_or_its_data_there_is_no_reader(tmp_path: Path) -> None:
    assert packs.data_folder((str(tmp_path),)) is None and Tesseract(object(), tmp_path).installed == []


@pytest.mark.system
def test_a_page_in_russian_and_english_is_read_with_the_data_of_the_system() -> None:
    reader = load_tesseract()
    if reader is None or "rus" not in [pack.language for pack in reader.installed]:
        pytest.skip("needs the extra ocr-scripts and the Debian package tesseract-ocr-rus")
    rows = ("The harbour office opens at nine", "Все люди рождаются свободными и равными",
            "в своем достоинстве и правах", "Они наделены разумом и совестью")  # fmt: skip
    image = Image.new("RGB", (900, 320), "white")
    for number, text in enumerate(rows):
        ImageDraw.Draw(image).text((40, 40 + 60 * number), text, "black", font(28))
    with closing(OcrEngine(1)) as engine:
        answer = "".join(engine.answer(png(image), FREE.prompt))
        report = engine.report(details=True)
    assert rows[0] in answer and sum(text in answer for text in rows[1:]) >= 2
    assert "Cyrillic" in report["scripts"] and not report["low_confidence"]
    assert all(line["confidence"] > 0.7 for line in report["lines"])
