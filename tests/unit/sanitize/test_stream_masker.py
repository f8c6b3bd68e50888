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
from gateway.sanitize.findings import Finding, masked
from gateway.sanitize.holdback import MAX_HOLDBACK_CHARS
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.stream_mask import StreamMask
from gateway.texts import TextSlot
from gateway.wire import sse
from tests.support.loop_turns import turns_of_others
from tests.support.pieces import pieces_of

STRICT = actions(Sanitize(profile="strict"), "responses")
CARD, MAIL, KEY = "4539 1488 0343 6467", "jane.doe@posthaus.org", "AKIA" + "QWERTY7Z" * 2
TEXT = f"My card is {CARD}, write to {MAIL} or jane at example dot org; the key is {KEY}. That is all I have."
CODES = "My card's cvv 605 and the card security code is 7210 then."


def slots_of(data: Json) -> Iterable[TextSlot]:
    for choice in data.get("choices", []):
        if "content" in choice["delta"]:
            yield TextSlot(
                choice["delta"], "content", "content", channel=choice["index"], form=data.get("form", "text")
            )


def chunk(text: str | None, number: int, index: int = 0, **more: Any) -> Event:
    delta = {} if text is None else {"content": text}
    return Event.from_data({"id": f"e{number}", "choices": [{"index": index, "delta": delta}], **more})


def whole(text: str) -> str:
    return masked(text, Scanner().scan(text))


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


async def run(batches: Iterable[EventBatch], table: Any = STRICT, scanner: Any = None) -> tuple[list[Event], list[str]]:
    found: list[str] = []
    mask = StreamMask(scanner or Scanner(), table, slots_of, found.append)
    events: list[Event] = []
    async for batch in mask.run(Source(batches)(), refused):
        events += batch
    return events, found


def text_of(events: Iterable[Event], index: int = 0) -> str:
    return "".join(
        choice["delta"].get("content", "")
        for event in events
        for choice in (event.data or {}).get("choices", [])
        if choice["index"] == index
    )


@pytest.mark.parametrize("size", range(1, 24))
async def test_a_stream_reads_like_the_whole_text_however_it_is_cut(size: int) -> None:
    batches = [[chunk(piece, number)] for number, piece in enumerate(pieces_of(TEXT, size))]
    events, found = await run(batches)
    assert text_of(events) == whole(TEXT)
    assert [event.data["id"] for event in events if event.data] == [f"e{number}" for number in range(len(batches))]
    assert sorted(found) == ["CREDIT_CARD", "EMAIL", "EMAIL", "SECRET"]


async def test_long_texts_of_events_are_masked_in_their_place_while_others_run() -> None:
    long = "plain words, " * 40_000 + TEXT
    mask = StreamMask(Scanner(), STRICT, slots_of, list[str]().append)
    placed: list[object] = []

    async def place(work: Callable[[], object]) -> None:
        placed.append(work)
        await asyncio.to_thread(work)

    async with turns_of_others() as turns:
        source = Source([[chunk(long, 0)], [chunk(None, 1, finish="stop")]])()
        events = [each async for batch in mask.run(source, refused, place) for each in batch]
    assert text_of(events) == whole(long)
    assert placed
    assert turns.count > 20  # at once: three


@pytest.mark.slow
async def test_every_single_cut_position_gives_the_same_text() -> None:
    for cut in range(len(TEXT) + 1):
        events, _ = await run([[chunk(TEXT[:cut], 0)], [chunk(TEXT[cut:], 1)]])
        assert text_of(events) == whole(TEXT), cut


async def test_a_card_code_of_three_digits_is_masked_wherever_it_is_cut() -> None:
    assert whole(CODES).count("[REDACTED:SECRET]") == 2
    for cut in range(len(CODES) + 1):
        events, _ = await run([[chunk(CODES[:cut], 0)], [chunk(CODES[cut:], 1)]])
        assert text_of(events) == whole(CODES), cut


@pytest.mark.parametrize("behind", ["org. ", "org . ", "org.", "org, "])
async def test_an_address_that_is_spelt_out_ends_with_its_sentence_wherever_the_text_is_cut(behind: str) -> None:
    text = "jane (at) example (dot) " + behind + MAIL
    for cut in range(len(text) + 1):
        events, _ = await run([[chunk(text[:cut], 0)], [chunk(text[cut:], 1)]])
        assert text_of(events) == whole(text), cut


@pytest.mark.parametrize(
    "text",
    [
        'The file has password = "correct Horse battery 42" and host = "db1".',
        """{"user": "anna", "db_password": "zQ7 w9, Kqz {7mB4} 'x'", "port": 5432}""",
        "api_secret: 'Zk83 hfQQ 92ab Lx71' # of the staging system",
        "<add><password>rT5 vBn8 qW2 zLp0</password><host>db1</host></add>",
        "The password was `tall Ships 1907 sail!` until May.",
    ],
)
async def test_a_named_value_with_blanks_is_masked_whole_wherever_it_is_cut(text: str) -> None:
    assert whole(text).count("[REDACTED:SECRET]") == 1
    for size in (1, 2, 3, 5, 8, 13):
        events, _ = await run([[chunk(piece, number)] for number, piece in enumerate(pieces_of(text, size))])
        assert text_of(events) == whole(text), size


FRAGMENTS = st.sampled_from(
    [
        CARD, MAIL, KEY, "4539148803436467", "4-5-3-9-1-4-8-8-0-3-4-3-6-4-6-7", "jane (at) example (dot) org", "\n",
        "jane at example dot org", "look at me", "12", "2026-11-21", "3.14", "hello", "a", "QQ", "it's", "@", "dot",
        "４１１１ １１１１ １１１１ １１１１", "je\u200bnny@exa\u200bmple.com", "Привет", "{\"a\": 1}", ",", ".", "  ",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nAQEFAASC\n-----END PRIVATE KEY-----",
    ]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(FRAGMENTS, st.sampled_from(["", " ", ", "])), max_size=8), st.randoms(use_true_random=False))
async def test_any_text_cut_anywhere_reads_like_the_whole(parts: list[tuple[str, str]], random: Any) -> None:
    text = "".join(itertools.chain.from_iterable(parts))
    cuts = sorted(random.sample(range(len(text) + 1), min(len(text), random.randint(0, 12))))
    edges = [0, *cuts, len(text)]
    batches = [[chunk(text[a:b], n)] for n, (a, b) in enumerate(itertools.pairwise(edges))]
    events, _ = await run(batches)
    assert text_of(events) == whole(text)
    assert len(events) == len(batches)


async def test_harmless_text_goes_out_while_the_stream_still_runs() -> None:
    mask = StreamMask(Scanner(), STRICT, slots_of, list[str]().append)
    sent = "".join(text_of(mask.push([chunk(word + " ", n)])) for n, word in enumerate(["plain"] * 50))
    assert len(sent) >= len("plain " * 50) - 24


async def test_what_is_not_text_keeps_its_place_and_its_ids() -> None:
    role = Event.from_data({"id": "e0", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
    ping, finish = Event.from_bytes(b": ping\n\n"), chunk(None, 3, finish="stop")
    batches = [
        [role],
        [chunk("card 4539 1488", 1)],
        [ping],
        [chunk(" 0343 6467", 2), finish],
        [Event.from_bytes(sse.DONE)],
    ]
    events, _ = await run(batches)
    assert [event.raw or (event.data or {})["id"] for event in events if event] == [
        "e0",
        "e1",
        b": ping\n\n",
        "e2",
        "e3",
        sse.DONE,
    ]
    assert text_of(events[1:2]) == "card [REDACTED:CREDIT_CARD]"
    assert text_of(events[3:4]) == ""


async def test_held_text_goes_out_before_done_without_waiting_for_the_end() -> None:
    mask = StreamMask(Scanner(), STRICT, slots_of, list[str]().append)
    assert mask.push([chunk("number 4111", 0)]) == []
    out = mask.push([chunk(None, 1), Event.from_bytes(sse.DONE)])
    assert text_of(out) == "number 4111"
    assert out[-1].raw == sse.DONE


async def test_interleaved_channels_do_not_mix() -> None:
    left, right = (
        pieces_of("pay with 4539148803436467 now please", 3),
        pieces_of("write to jane.doe@posthaus.org today", 3),
    )
    batches = [
        [chunk(text, n, index)]
        for n, (index, text) in enumerate(
            itertools.chain(*zip(((0, t) for t in left), ((1, t) for t in right), strict=True))
        )
    ]
    events, _ = await run(batches)
    assert text_of(events, 0) == "pay with [REDACTED:CREDIT_CARD] now please"
    assert text_of(events, 1) == "write to [REDACTED:EMAIL] today"


async def test_a_channel_that_falls_silent_does_not_hold_up_the_others_for_ever() -> None:
    mask = StreamMask(Scanner(), STRICT, slots_of, list[str]().append)
    mask.push([chunk("the end 4111", 0, 0)])
    sent = [event for n in range(1, 200) for event in mask.push([chunk("plain words ", n, 1)])]
    assert len(sent) > 120
    assert text_of(sent, 0) == "the end 4111"


async def test_what_waits_is_bounded_and_a_value_longer_than_that_still_vanishes() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 1000
    mask = StreamMask(Scanner(), STRICT, slots_of, list[str]().append)
    sent: list[Event] = []
    for number, piece in enumerate(pieces_of(key + "-----END PRIVATE KEY-----\n, that was it", 100)):
        sent += mask.push([chunk(piece, number)])
        assert len(sent) * 100 >= number * 100 - MAX_HOLDBACK_CHARS - 200
    sent += mask.finish()
    assert text_of(sent).startswith("[REDACTED:SECRET]")
    assert text_of(sent).endswith("that was it")
    assert "MIIE" not in text_of(sent)


async def test_tool_arguments_stay_valid_json_when_a_bare_number_is_masked() -> None:
    text = '{"card": 4539148803436467, "note": "say \\"4539 1488 0343 6467\\"", "n": 1}'
    for cut in range(len(text)):
        events, _ = await run([[chunk(text[:cut], 0, form="json")], [chunk(text[cut:], 1, form="json")]])
        assert orjson.loads(text_of(events)) == {
            "card": "[REDACTED:CREDIT_CARD]", "note": 'say "[REDACTED:CREDIT_CARD]"', "n": 1,
        }  # fmt: skip


async def test_a_blocked_value_ends_the_stream_at_the_finding_and_closes_the_upstream() -> None:
    table = actions(Sanitize(actions=SanitizeActions(responses={"CREDIT_CARD": "block"})), "responses")
    batches = [[chunk(piece, n)] for n, piece in enumerate(pieces_of(f"before {CARD} after and on and on", 5))]
    source = Source([*batches, [chunk(None, 99), Event.from_bytes(sse.DONE)]])
    mask = StreamMask(Scanner(), table, slots_of, list[str]().append)
    events = [event async for batch in mask.run(source(), refused) for event in batch]
    assert text_of(events) == "before "
    assert events[-2].data is not None
    assert events[-2].data["message"] == "the answer holds CREDIT_CARD"
    assert "e99" not in [event.data["id"] for event in events if event.data]
    assert source.closed


async def test_a_detector_that_fails_ends_the_stream_and_lets_nothing_held_out() -> None:
    class Failing(Scanner):
        def scan_uncached(self, text: str) -> list[Finding]:
            raise ValueError("broken")

    with pytest.raises(SanitizerFailed):
        await run([[chunk("some words and 1234567 that go on and on, more of them", 0)]], scanner=Failing())


async def test_text_that_was_whole_goes_out_before_an_upstreams_failure_is_told() -> None:
    source = Source([[chunk("the number is 4111", 0)]], UpstreamError("gone"))
    mask = StreamMask(Scanner(), STRICT, slots_of, list[str]().append)
    events: list[Event] = []
    with pytest.raises(UpstreamError):
        async for batch in mask.run(source(), refused):
            events += batch
    assert text_of(events) == "the number is 4111"


def whole_slots(data: Json) -> Iterable[TextSlot]:
    yield TextSlot(data, "text", "text", channel=data.get("channel"), form=data.get("form", "text"))


async def test_a_text_that_stands_whole_in_one_event_is_treated_by_its_form() -> None:
    mask = StreamMask(Scanner(), STRICT, whole_slots, list[str]().append)
    url = "https://example.org/4539148803436467?token=a8Xk29fLq0ZmR4zz"
    out = mask.push(
        [
            Event.from_data({"text": f"pay {CARD}"}),
            Event.from_data({"text": url, "form": "url"}),
            Event.from_data({"text": "{}", "form": "json"}),
        ]
    )
    assert [event.data["text"] for event in out if event.data] == [
        "pay [REDACTED:CREDIT_CARD]", url.replace("a8Xk29fLq0ZmR4zz", "%5BREDACTED:SECRET%5D"), "{}",
    ]  # fmt: skip


async def test_a_whole_text_that_is_blocked_never_goes_out() -> None:
    table = actions(Sanitize(actions=SanitizeActions(responses={"CREDIT_CARD": "block"})), "responses")
    mask = StreamMask(Scanner(), table, whole_slots, list[str]().append)
    source = Source(
        [[Event.from_data({"text": "fine words "}), Event.from_data({"text": CARD}), Event.from_data({"text": "more"})]]
    )
    events = [event async for batch in mask.run(source(), refused) for event in batch]
    assert [(event.data or {}).get("text") for event in events] == ["fine words ", None, None]
