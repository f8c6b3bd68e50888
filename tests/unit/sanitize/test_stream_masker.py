"""A stream masked while it runs."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.config.settings import Sanitize, SanitizeActions
from gateway.domain import Event, EventBatch, Json
from gateway.errors import GatewayError, SanitizerFailed, UpstreamError
from gateway.sanitize.findings import Finding
from gateway.sanitize.holdback import MAX_HOLDBACK_CHARS
from gateway.sanitize.policy import ActionTable, actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.stream_mask import StreamMask
from gateway.texts import TextSlot
from gateway.wire import sse
from gateway.wire.text_walk import answer_slots
from tests.support.loop_turns import turns_of_others
from tests.support.pieces import pieces_of
from tests.support.scanned import mask as whole

STRICT = actions(Sanitize(profile="strict"), "responses")
CARD, MAIL, KEY = "4539 1488 0343 6467", "jane.doe@posthaus.org", "AKIA" + "QWERTY7Z" * 2
TEXT = f"My card is {CARD}, write to {MAIL} or jane at example dot org; the key is {KEY}. That is all I have."
BLOCKED = actions(Sanitize(actions=SanitizeActions(responses={"CREDIT_CARD": "block"})), "responses")


def slots_of(data: Json) -> Iterable[TextSlot]:
    for choice in data.get("choices", []):
        delta, form = choice["delta"], data.get("form", "text")
        if "content" in delta:
            yield TextSlot(delta, "content", "content", channel=choice["index"], form=form)


def chunk(text: str | None, number: int, index: int = 0, **more: Any) -> Event:
    delta = {} if text is None else {"content": text}
    return Event.from_data({"id": f"e{number}", "choices": [{"index": index, "delta": delta}], **more})


def new_mask(table: ActionTable = STRICT, slots: Callable[[Json], Iterable[TextSlot]] = slots_of) -> StreamMask:
    return StreamMask(Scanner(), table, slots, list[str]().append)


def refused(error: GatewayError, last: Json | None) -> list[Event]:
    return [Event.from_data({"id": "refused", "message": error.message, "choices": []}), Event.from_bytes(sse.DONE)]


class Source:
    """Batches of events as an upstream sends them; knows whether it was closed."""

    def __init__(self, batches: Iterable[EventBatch], error: Exception | None = None) -> None:
        self.batches, self.error, self.closed = list(batches), error, False

    async def __call__(self) -> AsyncGenerator[EventBatch, None]:
        try:
            for batch in self.batches:
                yield batch
            if self.error:
                raise self.error
        finally:
            self.closed = True


async def run(batches: Iterable[EventBatch], scanner: Scanner | None = None) -> tuple[list[Event], list[str]]:
    found: list[str] = []
    mask = StreamMask(scanner or Scanner(), STRICT, slots_of, found.append)
    return [each async for batch in mask.run(Source(batches)(), refused) for each in batch], found


def text_of(events: Iterable[Event], index: int = 0) -> str:
    choices = [choice for event in events for choice in (event.data or {}).get("choices", [])]
    return "".join(choice["delta"].get("content", "") for choice in choices if choice["index"] == index)


@pytest.mark.parametrize("size", range(1, 24))
async def test_a_stream_reads_like_the_whole_text_however_it_is_cut(size: int) -> None:
    batches = [[chunk(piece, number)] for number, piece in enumerate(pieces_of(TEXT, size))]
    events, found = await run(batches)
    assert text_of(events) == whole(TEXT)
    assert [event.data["id"] for event in events if event.data] == [f"e{number}" for number in range(len(batches))]
    assert sorted(found) == ["CREDIT_CARD", "EMAIL", "EMAIL", "SECRET"]


async def test_long_texts_of_events_are_masked_in_their_place_while_others_run() -> None:
    long, placed = "plain words, " * 40_000 + TEXT, list[object]()

    async def place(work: Callable[[], object]) -> None:
        placed.append(work)
        await asyncio.to_thread(work)

    async with turns_of_others() as turns:
        source = Source([[chunk(long, 0)], [chunk(None, 1, finish="stop")]])()
        events = [each async for batch in new_mask().run(source, refused, place) for each in batch]
    assert text_of(events) == whole(long) and placed
    assert turns.count > 20  # at once: three


WHOLE_VALUES = [
    (TEXT, 4),
    ("My card's cvv 605 and the card security code is 7210 then.", 2),
    *((f"jane (at) example (dot) org{link}{MAIL}", 2) for link in (". ", ", ")),
    *((f"jane (at) example (dot) org{link}{MAIL}", 1) for link in (" . ", ".")),
    ('The file has password = "correct Horse battery 42" and host = "db1".', 1),
    ("""{"user": "anna", "db_password": "zQ7 w9, Kqz {7mB4} 'x'", "port": 5432}""", 1),
    ("api_secret: 'Zk83 hfQQ 92ab Lx71' # of the staging system", 1),
    ("<add><password>rT5 vBn8 qW2 zLp0</password><host>db1</host></add>", 1),
    ("The password was `tall Ships 1907 sail!` until May.", 1),
]


@pytest.mark.parametrize(("text", "values"), WHOLE_VALUES)
async def test_values_are_masked_whole_wherever_the_text_is_cut(text: str, values: int) -> None:
    assert whole(text).count("[REDACTED:") == values
    for pieces in (*((text[:cut], text[cut:]) for cut in range(len(text) + 1)), pieces_of(text, 1), pieces_of(text, 5)):
        events, _ = await run([[chunk(piece, number)] for number, piece in enumerate(pieces)])
        assert text_of(events) == whole(text), pieces


FRAGMENTS = st.sampled_from(
    [
        CARD, MAIL, KEY, "4539148803436467", "4-5-3-9-1-4-8-8-0-3-4-3-6-4-6-7", "jane (at) example (dot) org", "\n",
        "jane at example dot org", "look at me", "12", "2026-11-21", "3.14", "hello", "a", "QQ", "it's", "@", "dot",
        "４１１１ １１１１ １１１１ １１１１", "je\u200bnny@exa\u200bmple.com", "Привет", "{\"a\": 1}", ",", ".", "  ",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nAQEFAASC\n-----END PRIVATE KEY-----",
    ]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=150)
@given(st.lists(st.tuples(FRAGMENTS, st.sampled_from(["", " ", ", "])), max_size=8), st.randoms(use_true_random=False))
async def test_any_text_cut_anywhere_reads_like_the_whole(parts: list[tuple[str, str]], random: Any) -> None:
    text = "".join(itertools.chain.from_iterable(parts))
    cuts = sorted(random.sample(range(len(text) + 1), min(len(text), random.randint(0, 12))))
    batches = [[chunk(text[a:b], n)] for n, (a, b) in enumerate(itertools.pairwise([0, *cuts, len(text)]))]
    events, _ = await run(batches)
    assert text_of(events) == whole(text) and len(events) == len(batches)


async def test_harmless_text_goes_out_while_the_stream_still_runs() -> None:
    mask = new_mask()
    sent = "".join(text_of(mask.push([chunk(word + " ", n)])) for n, word in enumerate(["plain"] * 50))
    assert len(sent) >= len("plain " * 50) - 24


async def test_what_is_not_text_keeps_its_place_and_its_ids() -> None:
    role = Event.from_data({"id": "e0", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
    ping, finish = Event.from_bytes(b": ping\n\n"), chunk(None, 3, finish="stop")
    card = [[chunk("card 4539 1488", 1)], [ping], [chunk(" 0343 6467", 2), finish]]
    events, _ = await run([[role], *card, [Event.from_bytes(sse.DONE)]])
    names = [event.raw or (event.data or {})["id"] for event in events]
    assert names == ["e0", "e1", b": ping\n\n", "e2", "e3", sse.DONE]
    assert (text_of(events[1:2]), text_of(events[3:4])) == ("card [REDACTED:CREDIT_CARD]", "")


async def test_held_text_goes_out_before_done_without_waiting_for_the_end() -> None:
    mask = new_mask()
    assert mask.push([chunk("number 4111", 0)]) == []
    out = mask.push([chunk(None, 1), Event.from_bytes(sse.DONE)])
    assert text_of(out) == "number 4111" and out[-1].raw == sse.DONE


async def test_interleaved_channels_do_not_mix() -> None:
    left, right = pieces_of("pay with 4539148803436467 now please", 3), pieces_of(f"write to {MAIL} today", 3)
    events, _ = await run([[chunk(one, 0, 0), chunk(other, 1, 1)] for one, other in zip(left, right, strict=True)])
    assert text_of(events, 0) == "pay with [REDACTED:CREDIT_CARD] now please"
    assert text_of(events, 1) == "write to [REDACTED:EMAIL] today"


async def test_what_waits_is_bounded_and_a_value_longer_than_that_still_vanishes() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 1000
    mask, sent = new_mask(), list[Event]()
    for number, piece in enumerate(pieces_of(key + "-----END PRIVATE KEY-----\n, that was it", 100)):
        sent += mask.push([chunk(piece, number)])
        assert len(sent) * 100 >= number * 100 - MAX_HOLDBACK_CHARS - 200
    text = text_of([*sent, *mask.finish()])
    assert text.startswith("[REDACTED:SECRET]") and text.endswith("that was it") and "MIIE" not in text


async def test_tool_arguments_stay_valid_json_when_a_bare_number_is_masked() -> None:
    text = '{"card": 4539148803436467, "note": "say \\"4539 1488 0343 6467\\"", "n": 1}'
    for cut in range(len(text)):
        events, _ = await run([[chunk(text[:cut], 0, form="json")], [chunk(text[cut:], 1, form="json")]])
        assert orjson.loads(text_of(events)) == {
            "card": "[REDACTED:CREDIT_CARD]", "note": 'say "[REDACTED:CREDIT_CARD]"', "n": 1,
        }  # fmt: skip


async def test_a_blocked_value_ends_the_stream_at_the_finding_and_closes_the_upstream() -> None:
    batches = [[chunk(piece, n)] for n, piece in enumerate(pieces_of(f"before {CARD} after and on and on", 5))]
    source = Source([*batches, [chunk(None, 99), Event.from_bytes(sse.DONE)]])
    events = [event async for batch in new_mask(BLOCKED).run(source(), refused) for event in batch]
    assert text_of(events) == "before " and source.closed
    ids = [event.data["id"] for event in events if event.data]
    assert (events[-2].data or {})["message"] == "the answer holds CREDIT_CARD" and "e99" not in ids


async def test_a_detector_that_fails_ends_the_stream_and_lets_nothing_held_out() -> None:
    class Failing(Scanner):
        def scan_uncached(self, text: str) -> list[Finding]:
            raise ValueError("broken")

    with pytest.raises(SanitizerFailed):
        await run([[chunk("some words and 1234567 that go on and on, more of them", 0)]], scanner=Failing())


async def test_text_that_was_whole_goes_out_before_an_upstreams_failure_is_told() -> None:
    source, events = Source([[chunk("the number is 4111", 0)]], UpstreamError("gone")), list[Event]()
    with pytest.raises(UpstreamError):
        async for batch in new_mask().run(source(), refused):
            events += batch
    assert text_of(events) == "the number is 4111"


def whole_slots(data: Json) -> Iterable[TextSlot]:
    yield TextSlot(data, "text", "text", channel=data.get("channel"), form=data.get("form", "text"))


async def test_a_text_that_stands_whole_in_one_event_is_treated_by_its_form() -> None:
    url = "https://example.org/4539148803436467?token=a8Xk29fLq0ZmR4zz"
    given = [{"text": f"pay {CARD}"}, {"text": url, "form": "url"}, {"text": "{}", "form": "json"}]
    out = new_mask(slots=whole_slots).push([Event.from_data(each) for each in given])
    without_token = url.replace("a8Xk29fLq0ZmR4zz", "%5BREDACTED:SECRET%5D")
    assert [(event.data or {})["text"] for event in out] == ["pay [REDACTED:CREDIT_CARD]", without_token, "{}"]


async def test_a_whole_text_that_is_blocked_never_goes_out() -> None:
    source = Source([[Event.from_data({"text": text}) for text in ("fine words ", CARD, "more")]])
    events = [event async for batch in new_mask(BLOCKED, whole_slots).run(source(), refused) for event in batch]
    assert [(event.data or {}).get("text") for event in events] == ["fine words ", None, None]


@pytest.mark.slow
async def test_an_event_of_many_texts_is_masked_in_turns_with_others() -> None:
    texts = [f"call +1 202 555 {number:04d}, then write a sentence" + " of words" * 40 for number in range(1_000)]
    source = Source([[Event.from_data({"output": list(texts)})]])()
    async with turns_of_others() as turns:
        events = [each async for batch in new_mask(slots=answer_slots).run(source, refused) for each in batch]
    assert events[0].data == {"output": [whole(text) for text in texts]}
    assert turns.count > 10  # at once: two


async def test_a_long_text_that_must_not_pass_ends_the_stream_from_its_place() -> None:
    events = [Event.from_data({"a": "hello"}), Event.from_data({"a": "plain words, " * 2_000 + CARD})]
    sent = [each async for batch in new_mask(BLOCKED, answer_slots).run(Source([events])(), refused) for each in batch]
    assert sent[0].data == {"a": "hello"} and [(each.data or {}).get("id") for each in sent[1:]] == ["refused", None]
