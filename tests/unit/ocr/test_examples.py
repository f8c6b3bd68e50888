"""The examples of the README and of docs/ocr.md are what the engine answers."""

import re
from collections.abc import Iterator

import pytest

from gateway.ocr.server.engine import OcrEngine
from tests.support.ocr_running import SAMPLE
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow
PAGES = ["README.md", "docs/ocr.md"]
MODES = ["Markdown", "Free OCR", "Locate", "Describe", "Custom"]
EXAMPLE = re.compile(r'##+ (\w+ ?\w*)\n[^#]*?```sh\ncurl .*?"text": ?"(.*?)"\}.*?```\n\n```text\n(.*?)\n```', re.DOTALL)


def examples(page: str) -> dict[str, tuple[str, str]]:
    """By mode, the prompt of a page's command and the answer printed below it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return {title: (prompt, answer) for title, prompt, answer in EXAMPLE.findall(text)}


@pytest.fixture(scope="module")
def engine() -> Iterator[OcrEngine]:
    engine = OcrEngine(2)
    yield engine
    engine.close()


@pytest.mark.parametrize("page", PAGES)
def test_every_mode_has_an_example(page: str) -> None:
    assert list(examples(page)) == MODES


@pytest.mark.parametrize("title", MODES)
@pytest.mark.parametrize("page", PAGES)
def test_an_example_shows_what_is_answered(engine: OcrEngine, page: str, title: str) -> None:
    prompt, shown = examples(page)[title]
    answer = "".join(engine.answer(SAMPLE.read_bytes(), prompt.replace("\\n", "\n")))
    box = re.compile(r"\[\[(\d+), (\d+), (\d+), (\d+)\]\]")
    assert box.sub("[[box]]", answer).strip() == box.sub("[[box]]", shown).strip()
    for got, want in zip(box.findall(answer), box.findall(shown), strict=True):
        # Another processor may round a network's output differently.
        assert [int(v) for v in got] == pytest.approx([int(v) for v in want], abs=4)
