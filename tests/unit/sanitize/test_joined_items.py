"""Items of a stream whose texts continue each other."""

from collections.abc import Iterable
from typing import Any

import pytest

from gateway.config.settings import Sanitize, SanitizeActions
from gateway.domain import Event, Json
from gateway.errors import GatewayError
from gateway.sanitize.holdback import may_be_key, may_be_value
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.stream_mask import IDLE_EVENTS, MAX_IDLE_EVENTS, StreamMask
from gateway.texts import TextSlot

STRICT = actions(Sanitize(profile="strict"), "responses")
CARD = "4539 1488 0343 6467"


def slots_of(data: Json) -> Iterable[TextSlot]:
    name, flow = data.get("item"), data.get("flow")
    if "text" in data:
        yield TextSlot(data, "text", "text", channel=name, flow=flow)
    if data.get("last"):
        yield TextSlot({"end": ""}, "end", "text", channel=name, last=True, flow=flow)
    for key in ("copy", "copies"):
        for at in range(len(data.get(key, ()))):
            yield TextSlot(data[key], at, f"{key}[{at}]")


def item(number: int, *pieces: str, flow: str = "said") -> list[Event]:
    """The events of an item: its pieces, and the closing one with its whole text."""
    at = {"item": f"{flow}{number}", "flow": flow}
    texts = [Event.from_data({**at, "text": piece}) for piece in pieces]
    return [*texts, Event.from_data({**at, "last": True, "copy": ["".join(pieces)]})]


def mask_of_stream(table: Any = STRICT, scanner: Scanner | None = None) -> StreamMask:
    return StreamMask(scanner or Scanner(), table, slots_of, list[str]().append)


def shown(events: Iterable[Event]) -> tuple[list[str], list[str]]:
    """(pieces, copies)."""
    data = [event.data or {} for event in events]
    return [each["text"] for each in data if "text" in each], [text for each in data for text in each.get("copy", ())]


@pytest.mark.parametrize("size", range(2, 12))
def test_a_value_over_items_is_masked_in_pieces_and_copies(size: int) -> None:
    text, mask, out = f"The card is {CARD}, as you asked.", mask_of_stream(), []
    pieces = [text[index : index + size] for index in range(0, len(text), size)]
    for number, piece in enumerate(pieces):
        out += mask.push([*item(number, piece), *item(number, "hm ", flow="thought")])
    out += mask.push([Event.from_data({"copies": list(pieces)})])
    out += mask.finish()
    data = [event.data or {} for event in out]
    said = [each["text"] for each in data if each.get("flow") == "said" and "text" in each]
    assert len(out) == 4 * len(pieces) + 1
    begin = "".join(said).removesuffix("[REDACTED:CREDIT_CARD], as you asked.")
    assert begin.startswith("The card is ") and len(begin) <= len("The card is 4539 ")
    assert data[-1]["copies"] == said
    assert [text for text in shown(out)[1] if text != "hm "] == said


@pytest.mark.parametrize("end", ["I know enough.", "so the answer is 42.", 'He said "yes"!', "It is done", "done: "])
def test_the_end_of_prose_holds_nothing_up(end: str) -> None:
    out = mask_of_stream().push(item(0, "Let me think. ", end))
    assert shown(out) == (["Let me think. ", end], ["Let me think. " + end])


def test_what_may_be_a_value_waits_for_the_next_item_and_its_copy_with_it() -> None:
    mask = mask_of_stream()
    assert shown(mask.push(item(0, "Your number: ", "4539 14"))) == (["Your number: "], [])
    pieces, copies = shown(mask.push(item(1, "88 0343 6467", " as you asked.")))
    assert pieces == ["[REDACTED:CREDIT_CARD]", "", " as you asked."]
    assert copies == ["Your number: [REDACTED:CREDIT_CARD]", " as you asked."]


@pytest.mark.parametrize(("end", "wait"), [("Nina_Q", IDLE_EVENTS), ("4539 1488 03", MAX_IDLE_EVENTS)])
def test_the_wait_is_bounded(end: str, wait: int) -> None:
    mask = mask_of_stream()
    held = mask.push(item(0, end))
    sent = [len(mask.push([Event.from_data({"text": "hm. ", "item": "thought"})])) for _ in range(wait + 2)]
    assert held == [] and sum(sent[: wait - 2]) == 0 and sum(sent) > wait - 2


def test_items_open_beside_each_other_keep_their_texts() -> None:
    one, two = item(1, "One two ", "4539 14"), item(2, "Three ", "four.")
    out = mask_of_stream()
    events = out.push([one[0], two[0], one[1], two[1], one[2], two[2]]) + out.finish()
    assert shown(events) == (["One two ", "Three ", "4539 14", "four."], ["One two 4539 14", "Three four."])


def test_a_long_key_is_masked_over_the_items_that_it_fills() -> None:
    mask, out = mask_of_stream(), []
    out += mask.push(item(0, "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0B\n" * 400))
    out += mask.push(item(1, "MIIEvQIBADANBgkqhkiG9w0B\n" * 40))
    out += mask.push(item(2, "MIIE\n-----END PRIVATE KEY-----\nThat is all."))
    out += mask.finish()
    pieces, copies = shown(out)
    assert pieces == copies and "MIIE" not in "".join(pieces)


async def test_a_blocked_value_over_items_ends_the_stream_before_it() -> None:
    async def source() -> Any:
        yield [*item(0, "the card ", "is 4539 14"), *item(1, "88 0343 6467", " so.")]

    def refused(error: GatewayError, last: Json | None) -> list[Event]:
        return [Event.from_data({"refused": error.message})]

    table = actions(Sanitize(actions=SanitizeActions(responses={"CREDIT_CARD": "block"})), "responses")
    events = [event async for batch in mask_of_stream(table).run(source(), refused) for event in batch]
    assert shown(events) == (["the card ", "is "], []) and (events[-1].data or {})["refused"]


async def test_a_copy_that_waited_is_still_looked_at_with_what_is_beside_it() -> None:
    async def source() -> Any:
        yield [*item(0, "it was 2019-12"), Event.from_data({"copies": ["it was 2019-12", CARD]})]

    table = actions(Sanitize(actions=SanitizeActions(responses={"CREDIT_CARD": "block"})), "responses")
    refusal = Event.from_data({"refused": True})
    events = [event async for batch in mask_of_stream(table).run(source(), lambda *_: [refusal]) for event in batch]
    assert shown(events) == (["it was 2019-12"], ["it was 2019-12"]) and events[-1] is refusal
    assert not any("copies" in (event.data or {}) for event in events)


@pytest.mark.parametrize("text", ["", "word.", "Berlin", "2019", "42 %", "(a, b)", "well, yes", "4539 14 as we did."])
def test_ends_of_prose_are_no_values(text: str) -> None:
    assert not may_be_value(text)


@pytest.mark.parametrize("text", ["4539 14", "ghp_x8", "GB82W", "AKIAQ", "john.smith", "a" * 21, "camelCase"])
def test_beginnings_of_values_are_held(text: str) -> None:
    assert may_be_value(text)


def test_numbers_and_keys_are_told_from_short_ones_and_words() -> None:
    assert [may_be_key(text) for text in ("4539 1488", "ghp_x8Kq2", "2019-12", "the end 4111")] == [
        True,
        True,
        False,
        False,
    ]
