"""The examples of docs/ocr.md are what the engine answers, and the README shows a part of one."""

import re
from collections.abc import Iterator

import pytest

from gateway.ocr.server.engine import OcrEngine
from tests.support.ocr_running import SAMPLE
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow
MODES = ["Markdown", "Free OCR", "Locate", "Describe", "Custom"]
EXAMPLE = re.compile(r"##+ (\w+ ?\w*)\n[^#]*?```sh\nask '(.*?)'\n```\n\n```text\n(.*?)\n```", re.DOTALL)


def examples() -> dict[str, tuple[str, str]]:
    """By mode, the prompt of a command and the answer printed below it."""
    text = (ROOT / "docs" / "ocr.md").read_text(encoding="utf-8")
    return {title: (prompt, answer) for title, prompt, answer in EXAMPLE.findall(text)}


@pytest.fixture(scope="module")
def engine() -> Iterator[OcrEngine]:
    engine = OcrEngine(2)
    yield engine
    engine.close()


def test_every_mode_has_an_example() -> None:
    assert list(examples()) == MODES


@pytest.mark.parametrize("title", MODES)
def test_an_example_shows_what_is_answered(engine: OcrEngine, title: str) -> None:
    prompt, shown = examples()[title]
    answer = "".join(engine.answer(SAMPLE.read_bytes(), prompt.replace("\\n", "\n")))
    box = re.compile(r"\[\[(\d+), (\d+), (\d+), (\d+)\]\]")
    assert box.sub("[[box]]", answer).strip() == box.sub("[[box]]", shown).strip()
    for got, want in zip(box.findall(answer), box.findall(shown), strict=True):
        # Another processor may round a network's output differently.
        assert [int(v) for v in got] == pytest.approx([int(v) for v in want], abs=4)
