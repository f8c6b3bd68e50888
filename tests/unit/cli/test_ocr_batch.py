"""`gateway ocr … --out DIR`: one file a document in the format asked for; a bad document does not stop the rest."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image

from gateway.cli.ocr import SOME_FAILED, BatchOptions, run_batch, tables_in_markdown
from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.ocr.image.documents import open_document
from tests.support.ocr_pages import png
from tests.support.paths import GOLDEN

LIMIT = 1 << 20
TABLE = "<table><tr><td>Article</td><td>Price</td></tr><tr><td>Rope</td><td>4.20</td></tr></table>"
LINE = {"text": "Привет, harbour", "box": [100, 100, 600, 200], "confidence": 0.99, "page": 1, "block": 1}


class Engine:
    """Reads the width of every page and a table."""

    def answer(self, data: bytes, prompt: str) -> Iterator[str]:
        yield f"# Page of {Image.open(io.BytesIO(data)).width} pixels\n\n{TABLE}"

    def report(self, *, details: bool = False) -> Json:
        return {"low_confidence": True, "scripts": ["Latin"], "warnings": ["low confidence: 1 of 1"], "lines": [LINE]}


def picture(width: int = 400) -> bytes:
    return png(Image.new("RGB", (width, 300), "white"))


def tiff(count: int) -> bytes:
    out = io.BytesIO()
    frames = [Image.new("RGB", (100 + number, 80)) for number in range(count)]
    frames[0].save(out, "TIFF", save_all=True, append_images=frames[1:])
    return out.getvalue()


def test_a_link_that_leads_out_is_neither_read_nor_written_through(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(picture())
    (folder / "c.png").symlink_to(tmp_path / "secret.png")
    (tmp_path / "out").mkdir()
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "out" / "a.md").symlink_to(tmp_path / "mine")
    (tmp_path / "out" / "deep").symlink_to(tmp_path)
    code, notes, out = run(folder, "md")
    assert code == SOME_FAILED and "c.png\n  failed: " in notes and not (out / "c.md").exists()
    assert (tmp_path / "mine").read_text() == "mine" and "# Page" in (out / "a.md").read_text()
    assert not (tmp_path / "b.md").exists()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = tmp_path / "scans"
    (source / "deep").mkdir(parents=True)
    (source / "a.png").write_bytes(picture())
    (source / "broken.png").write_bytes(picture()[:200])
    (source / "deep" / "b.tiff").write_bytes(tiff(3))
    (source / "notes.docx").write_bytes(b"not read from a folder")
    return source


def run(folder: Path, format_: str, pages: tuple[int, int] | None = None) -> tuple[int, str, Path]:
    out, notes = folder.parent / "out", io.StringIO()
    code = run_batch(BatchOptions((str(folder),), out, format_, pages), Engine(), LIMIT, notes)
    return code, notes.getvalue(), out


def test_a_folder_is_read_with_its_folders_and_a_broken_file_is_told(folder: Path) -> None:
    code, notes, out = run(folder, "md")
    assert code == SOME_FAILED
    assert "failed: the image is damaged" in notes and "2 of 3 documents were read" in notes
    assert "page 1: low confidence: 1 of 1" in notes
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*.*")) == ["a.md", "deep/b.md"]
    assert (out / "a.md").read_text().startswith("# Page of 400 pixels")
    assert (out / "deep" / "b.md").read_text().count("<!-- page ") == 3


def test_pages_can_be_chosen_and_keep_their_numbers(folder: Path) -> None:
    _, _, out = run(folder, "json", (2, 3))
    read = json.loads((out / "deep" / "b.json").read_text())
    assert [page["page"] for page in read["pages"]] == [2, 3]
    assert [line["page"] for page in read["pages"] for line in page["ocr"]["lines"]] == [2, 3]
    assert read["pages"][0]["text"].startswith("# Page of 101")


def test_csv_has_a_file_for_each_table(folder: Path) -> None:
    _, _, out = run(folder, "csv")
    with (out / "a-page1-table1.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["Article", "Price"], ["Rope", "4.20"]]
    assert len(list(out.rglob("*.csv"))) == 4


def test_a_searchable_pdf_has_the_picture_and_its_text_in_any_script(folder: Path) -> None:
    _, _, out = run(folder, "pdf")
    document = pypdfium2.PdfDocument((out / "a.pdf").read_bytes())
    page = document[0]
    text = page.get_textpage()
    assert text.get_text_range() == "Привет, harbour"
    left, bottom, right, top = text.get_rect(0) if text.count_rects() else (0, 0, 0, 0)
    width, height = page.get_size()
    assert abs(left / width - 0.1) < 0.02 and abs(right / width - 0.6) < 0.02
    assert abs(1 - top / height - 0.1) < 0.05 and bottom < top
    assert page.render().to_pil().convert("L").getextrema() == (255, 255)
    text.close(), page.close(), document.close()


def test_plain_text_parts_pages_by_a_form_feed(folder: Path) -> None:
    assert (run(folder, "txt")[2] / "deep" / "b.txt").read_text().count("\f") == 2


def test_two_files_of_one_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.png").write_bytes(picture())
    sources = tuple(str(tmp_path / name / "a.png") for name in ("one", "two"))
    assert run_batch(BatchOptions(sources, tmp_path / "out"), Engine(), LIMIT, io.StringIO()) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a-2.md", "a.md"]


def test_nothing_to_read_and_files_that_are_missing_or_too_large_are_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidRequest, match="nothing to read"):
        run_batch(BatchOptions((str(tmp_path / "empty"),), tmp_path / "out"), Engine(), LIMIT, io.StringIO())
    (tmp_path / "large.png").write_bytes(picture())
    notes = io.StringIO()
    sources = (str(tmp_path / "large.png"), str(tmp_path / "missing.png"))
    assert run_batch(BatchOptions(sources, tmp_path / "out"), Engine(), 10, notes) == SOME_FAILED
    assert "too large" in notes.getvalue() and "No such file" in notes.getvalue()


def test_merged_cells_keep_the_places_of_the_others() -> None:
    merged = '<table><tr><td rowspan="2">a</td><td colspan="2">b</td></tr><tr><td>c</td><td>d &amp; e</td></tr></table>'
    assert tables_in_markdown(merged) == [[["a", "b", ""], ["", "c", "d & e"]]]


def test_pages_that_a_document_does_not_have_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="has 3 pages"):
        open_document(tiff(3), (4, 5))
    assert len(list(open_document(tiff(3), (2, 9)).pages)) == 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_page_of_a_long_document_and_a_log_does_not(folder: Path) -> None:
    options = BatchOptions((str(folder),), folder.parent / "out")
    notes = Terminal()
    run_batch(options, Engine(), LIMIT, notes)
    assert "page 2 of 3" in notes.getvalue() and notes.getvalue().count("page 1 of") == 1
    assert "page 2 of 3" not in run(folder, "md")[1]


def test_a_cell_that_reaches_down_at_a_row_s_end_leaves_the_rows_below_in_place() -> None:
    merged = '<table><tr><td>a</td><td rowspan="2">b</td></tr><tr><td>c</td></tr><tr><td>d</td><td>e</td></tr></table>'
    assert tables_in_markdown(merged) == [[["a", "b"], ["c", ""], ["d", "e"]]]


class FailingEngine(Engine):
    """Cannot read pages of 101 pixels."""

    def answer(self, data: bytes, prompt: str) -> Iterator[str]:
        if Image.open(io.BytesIO(data)).width == 101:
            raise InvalidRequest("the page took too long")
        yield "no table"


def test_the_pages_that_can_be_read_are_written_and_the_others_told(folder: Path) -> None:
    notes, out = io.StringIO(), folder.parent / "out"
    options = BatchOptions((str(folder / "deep" / "b.tiff"),), out, "md")
    assert run_batch(options, FailingEngine(), LIMIT, notes) == SOME_FAILED
    assert "page 2 failed: the page took too long" in notes.getvalue()
    assert "page 1" in (out / "b.md").read_text() and "page 2" not in (out / "b.md").read_text()


def test_a_document_without_tables_is_told_and_results_of_the_last_run_are_not_read(folder: Path) -> None:
    notes = io.StringIO()
    options = BatchOptions((str(folder),), folder / "out", "csv")
    (folder / "out").mkdir()
    (folder / "out" / "old.png").write_bytes(picture())
    run_batch(options, FailingEngine(), LIMIT, notes)
    assert "no table was found, so nothing was written" in notes.getvalue()
    assert "0 of 3 documents were read" in notes.getvalue() and "; 1 without a table gave no file" in notes.getvalue()
    assert "old.png" not in notes.getvalue()


def test_a_pdf_with_a_password_is_told_apart_from_a_damaged_one() -> None:
    with pytest.raises(InvalidRequest, match="it needs a password"):
        open_document((GOLDEN / "locked.pdf").read_bytes())
    with pytest.raises(InvalidRequest, match="it is damaged"):
        open_document(b"%PDF-1.7 cut")
