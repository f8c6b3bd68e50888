"""The examples of docs/ocr.md are what the engine answers."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.local.ocr_engine import OcrEngine
from tests.ocr_running import SAMPLE

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "ocr.md"
EXAMPLE = re.compile(r'## (\w+ ?\w*)\n[^#]*?```sh\n.*?"text": "(.*?)"\}.*?```\n\n```text\n(.*?)\n```', re.DOTALL)
EXAMPLES = {title: (prompt, answer) for title, prompt, answer in EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))}


@pytest.fixture(scope="module")
def engine() -> Iterator[OcrEngine]:
    engine = OcrEngine(2)
    yield engine
    engine.close()


def test_every_mode_has_an_example() -> None:
    assert list(EXAMPLES) == ["Markdown", "Free OCR", "Locate", "Describe", "Custom"]


@pytest.mark.parametrize("title", ["Markdown", "Free OCR", "Locate", "Describe", "Custom"])
def test_an_example_shows_what_is_answered(engine: OcrEngine, title: str) -> None:
    prompt, shown = EXAMPLES[title]
    answer = "".join(engine.answer(SAMPLE.read_bytes(), prompt.replace("\\n", "\n")))
    box = re.compile(r"\[\[(\d+), (\d+), (\d+), (\d+)\]\]")
    assert box.sub("[[box]]", answer).strip() == box.sub("[[box]]", shown).strip()
    for got, want in zip(box.findall(answer), box.findall(shown), strict=True):
        # Another processor may round a network's output differently.
        assert [int(v) for v in got] == pytest.approx([int(v) for v in want], abs=4)
