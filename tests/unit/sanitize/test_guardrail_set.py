"""The open set of the guardrail, with a scripted model: true answers become findings, instructions are only flagged."""

import json
from collections import Counter
from typing import Any

import pytest

from bench.guardrail import FAILED, KINDS, SET, Labels, measure
from gateway.config import settings as config
from gateway.sanitize.guardrail import Guardrail
from gateway.sanitize.pipeline import Sanitizer
from gateway.sanitize.policy import Direction
from gateway.texts import TextSlot, TextUnit

ROWS = [json.loads(line) for line in SET.read_text("utf-8").splitlines()]


def unusable(counts: Counter[str]) -> dict[str, int]:
    return {reason.removeprefix(FAILED): count for reason, count in counts.items() if reason.startswith(FAILED)}


async def test_true_answers_about_the_set_become_findings_and_nothing_else_does() -> None:
    counts = await measure(Labels(ROWS), ROWS)
    assert counts["all"]["texts"] >= 60 and not unusable(counts["all"])
    for kind in KINDS:
        assert counts[kind]["labelled"] == counts[kind]["found"] >= 8 and not counts[kind]["false"]


class Repeats(Labels):
    """A model that repeats itself until it is cut, whatever it is asked."""

    async def ask(self, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        return {"choices": [{"message": {"content": '{"findings": ['}, "finish_reason": "length"}]}


async def test_every_text_is_asked_about_and_bad_answers_are_counted_by_their_cause() -> None:
    counts = await measure(Repeats(ROWS), ROWS[:20])
    assert unusable(counts["all"]) == {"the answer was cut or has no text": 20}


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
