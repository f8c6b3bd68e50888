"""What stands behind a property name that was masked is judged and withheld as any other text."""

import orjson
import pytest

from gateway.config import settings as config
from gateway.domain import Json
from gateway.errors import SanitizerFailed
from gateway.sanitize.guardrail import Guardrail
from gateway.sanitize.pipeline import Sanitizer
from gateway.texts import TextUnit
from gateway.wire.dialect import withhold
from gateway.wire.text_walk import answer_slots

TEXT = "Our patient Ada Private was diagnosed yesterday. " + "More words that nobody minds follow here. " * 4


class Model:
    """`ports.ChatModel` that finds one name, or fails."""

    def __init__(self, fails: bool = False) -> None:
        self._content = "no JSON" if fails else orjson.dumps({"findings": [{"type": "PERSON", "value": "Ada Private"}]})

    async def ask(self, body: Json, timeout_s: float) -> Json:
        content = self._content if isinstance(self._content, str) else self._content.decode()
        return {"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]}


def _sanitizer(model: Model) -> Sanitizer:
    settings = config.GuardrailSettings(enabled="on", timeout_s=2, on_failure_responses="closed")
    return Sanitizer(config.Sanitize(profile="strict"), Guardrail(settings, model, "https://llm.example/v1", "m"))


async def test_a_value_whose_name_was_masked_is_judged_as_any_other() -> None:
    answer = {"choices": {"ada@private-mail.com": TEXT}}
    await _sanitizer(Model()).clean(TextUnit(lambda: answer_slots(answer)), "responses")
    assert answer == {"choices": {"[REDACTED:EMAIL]": TEXT.replace("Ada Private", "[REDACTED:PERSON]")}}


async def test_a_value_whose_name_was_masked_goes_when_the_answer_is_withheld() -> None:
    answer = {"choices": {"ada@private-mail.com": TEXT}}
    unit = TextUnit(lambda: answer_slots(answer))
    with pytest.raises(SanitizerFailed):
        await _sanitizer(Model(fails=True)).clean(unit, "responses")
    withhold(unit, None)
    assert answer == {"choices": {"[REDACTED:EMAIL]": ""}}
