"""The open set of the guardrail, with a scripted model: true answers become findings, instructions are only flagged."""

import json

import pytest

from bench.guardrail import KINDS, SET, Labels, measure
from gateway.config import sanitize_settings as config
from gateway.sanitize.guardrail.guardrail import Guardrail
from gateway.sanitize.masking.policy import Direction
from gateway.sanitize.pipeline import Sanitizer
from gateway.texts import TextSlot, TextUnit

ROWS = [json.loads(line) for line in SET.read_text("utf-8").splitlines()]


async def test_true_answers_about_the_set_become_findings_and_nothing_else_does() -> None:
    counts = await measure(Labels(ROWS), ROWS)
    assert counts["all"]["texts"] >= 60 and not counts["all"]["failed"]
    for kind in KINDS:
        assert counts[kind]["labelled"] == counts[kind]["found"] >= 8 and not counts[kind]["false"]


@pytest.mark.parametrize("profile", ["balanced", "strict"])
async def test_instructions_to_the_model_in_a_page_are_flagged_and_stay(profile: str) -> None:
    rows = [row for row in ROWS if any(each["type"] == "INSTRUCTION" for each in row["findings"])]
    guard = Guardrail(config.GuardrailSettings(enabled="on"), Labels(ROWS), "", "m")
    sanitizer = Sanitizer(config.Sanitize(profile=profile), guard)
    direction: Direction = "responses"
    for row in rows:
        page = {"raw_content": row["text"]}
        verdict = await sanitizer.clean(TextUnit([TextSlot(page, "raw_content", "page")]), direction)
        assert verdict.counts == {"INSTRUCTION": 1} and page["raw_content"] == row["text"], row["text"]
