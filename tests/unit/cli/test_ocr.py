"""`gateway ocr`: documents page by page, prompts from options, overlays."""

import io
from pathlib import Path

import pytest
from PIL import Image

from gateway.cli.main import main
from gateway.cli.ocr import OcrOptions, prompt_of, run
from gateway.errors import InvalidRequest
from gateway.ocr.image.documents import draw_boxes, open_document
from gateway.wire import ocr as wire
from tests.support.ocr_pages import png
from tests.support.ocr_running import small


def pages(kind: str, *texts: str) -> bytes:
    """A document of one page a text."""
    images = [small(text).image for text in texts]
    out = io.BytesIO()
    images[0].save(out, kind, save_all=True, append_images=images[1:])
    return out.getvalue()


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        (OcrOptions(), wire.MARKDOWN),
        (OcrOptions(find="Total"), wire.LOCATE),
        (OcrOptions(prompt="Parse the figure."), wire.CUSTOM),
        (OcrOptions(mode="custom", prompt="OCR this image.", grounding=True), wire.MARKDOWN),
        (OcrOptions(mode="free"), wire.FREE),
        (OcrOptions(mode="describe"), wire.DESCRIBE),
    ],
)
def test_options_become_the_prompt_of_their_mode(options: OcrOptions, mode: wire.PromptMode) -> None:
    assert wire.detect_mode(prompt_of(options)) is mode


@pytest.mark.parametrize(
    "options",
    [
        OcrOptions(mode="locate"),
        OcrOptions(mode="custom"),
        OcrOptions(mode="?"),
        OcrOptions(mode="free", find="Total"),
        OcrOptions(mode="describe", prompt="Parse the figure."),
        OcrOptions(mode="free", grounding=True),
        OcrOptions(find="Total", prompt="Parse the figure."),
    ],
)
def test_options_that_do_not_fit_together_are_refused(options: OcrOptions) -> None:
    with pytest.raises(InvalidRequest):
        prompt_of(options)


@pytest.mark.parametrize("kind", ["TIFF", "PDF"])
def test_every_page_of_a_document_is_an_image(kind: str) -> None:
    document = open_document(pages(kind, "one", "two", "three"))
    sizes = [Image.open(io.BytesIO(page)).size for page in document.pages]
    assert document.page_count == len(sizes) == 3
    assert all(width > height for width, height in sizes)


@pytest.mark.parametrize("data", [b"%PDF-1.7 but no more than that", b"plain text", b""])
def test_what_is_no_document_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidRequest):
        open_document(data)


def test_boxes_are_drawn_where_the_answer_says() -> None:
    blank = png(Image.new("RGB", (1000, 1000), "white"))
    drawn = Image.open(io.BytesIO(draw_boxes(blank, "title[[100, 200, 400, 300]]\n# x\n\nother[[0, 0, 999, 999]]")))
    assert drawn.size == (1000, 1000)
    assert drawn.convert("RGB").getpixel((300, 302)) != (255, 255, 255)
    assert drawn.convert("RGB").getpixel((300, 250)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--format", "json"], "--format is for files in --out DIR"),
        (["--out", "texts", "--find", "Total"], "--find is for one document that is printed"),
        (["--out", "texts", "--overlay", "seen.png"], "--overlay is for one document that is printed"),
    ],
)
def test_options_without_effect_are_refused(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ocr", "letter.png", *options]) == 1
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_chosen_pages_are_named_among_all_there_are() -> None:
    out = io.StringIO()
    assert run(pages("TIFF", "alpha", "beta", "gamma"), OcrOptions(pages=(2, 3)), out, io.StringIO()) == 0
    assert "--- page 2 of 3 ---" in out.getvalue() and "--- page 3 of 3 ---" in out.getvalue()


@pytest.mark.slow
def test_a_document_is_read_page_by_page_and_drawn(tmp_path: Path) -> None:
    out, notes = io.StringIO(), io.StringIO()
    status = run(pages("TIFF", "alpha page", "beta page"), OcrOptions(overlay=tmp_path / "seen.png"), out, notes)
    assert status == 0
    first, second = out.getvalue().split("--- page 2 of 2 ---")
    assert "--- page 1 of 2 ---" in first
    assert "alpha page" in first
    assert "beta page" in second
    assert {path.name for path in tmp_path.iterdir()} == {"seen-1.png", "seen-2.png"}
