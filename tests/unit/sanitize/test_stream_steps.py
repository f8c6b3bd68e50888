"""Streams are masked in turns with others, however many texts one event has; a long text is masked in its place."""

import pytest

from gateway.config.settings import Sanitize, SanitizeActions
from gateway.domain import Event
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.stream_mask import StreamMask
from gateway.wire.text_walk import answer_slots
from tests.support.loop_turns import turns_of_others
from tests.unit.sanitize.test_stream_masker import CARD, STRICT, Source, refused, whole


@pytest.mark.slow
async def test_an_event_of_many_texts_is_masked_in_turns_with_others() -> None:
    texts = [f"call +1 202 555 {number:04d}, then write a sentence" + " of words" * 40 for number in range(1_000)]
    mask = StreamMask(Scanner(), STRICT, answer_slots, list[str]().append)
    async with turns_of_others() as turns:
        source = Source([[Event.from_data({"output": list(texts)})]])()
        events = [each async for batch in mask.run(source, refused) for each in batch]
    assert events[0].data == {"output": [whole(text) for text in texts]}
    assert turns.count > 10  # at once: two


async def test_a_long_text_that_must_not_pass_ends_the_stream_from_its_place() -> None:
    table = actions(Sanitize(actions=SanitizeActions(responses={"CREDIT_CARD": "block"})), "responses")
    mask = StreamMask(Scanner(), table, answer_slots, list[str]().append)
    events = [Event.from_data({"a": "hello"}), Event.from_data({"a": "plain words, " * 2_000 + CARD})]
    sent = [each async for batch in mask.run(Source([events])(), refused) for each in batch]
    assert sent[0].data == {"a": "hello"}
    assert [(each.data or {}).get("id") for each in sent[1:]] == ["refused", None]
