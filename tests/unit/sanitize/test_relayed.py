"""A stream whose events are relayed by their bytes, masked while it runs; and the one glance that plain words cost."""

import itertools
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.config.settings import Sanitize, SanitizeActions
from gateway.domain import Event, EventBatch
from gateway.sanitize.folding import View
from gateway.sanitize.holdback import holdback_start
from gateway.sanitize.plain_words import plain_text_cut
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.stream_mask import IDLE_EVENTS, StreamMask
from gateway.wire import sse
from gateway.wire.chat.answer import AnswerContext
from gateway.wire.chat.dialect import ChatDialect
from gateway.wire.chat.stream import ChatStream
from tests.support.pieces import pieces_of
from tests.support.scanned import mask as whole

STRICT = actions(Sanitize(profile="strict"), "responses")
CARD, MAIL = "4539 1488 0343 6467", "jane.doe@posthaus.org"
TEXT = (
    f'In the year 2026 it\'s said: "17 % of 240" (at most).\n\nMy card is {CARD}, so write to {MAIL} or to jane at '
    "example dot org; the key is AKIAQWERTY7ZQWERTY7Z. That is all — naïve words, as ever, and nothing else."
)


def sent(text: str, index: int = 0) -> bytes:
    choice = {"index": index, "delta": {"content": text}, "logprobs": None, "finish_reason": None}
    return orjson.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})


class Relay:
    """A chat stream that has learnt what its chunks look like."""

    def __init__(self, choices: int = 1) -> None:
        self._stream = ChatStream(AnswerContext("SvcLLM", "p", "m", 0.0))
        for index in range(choices):
            self._stream.take([sent("x", index)])

    def events(self, *pieces: str, index: int = 0) -> EventBatch:
        events, fault = self._stream.take([sent(piece, index) for piece in pieces])
        assert fault is None and all(event.data is None for event in events)
        return events


def new_mask(table: Any = STRICT) -> StreamMask:
    return StreamMask(Scanner(), table, ChatDialect().event_slots, list[str]().append)


def relayed(pieces: list[str], at_once: int = 1000) -> str:
    """What is sent of a text that comes in pieces, so many of them at once."""
    relay, mask, out = Relay(), new_mask(), []
    for start in range(0, len(pieces), at_once):
        out += mask.push(relay.events(*pieces[start : start + at_once]))
    out += mask.finish()
    assert len(out) == len(pieces)
    return text_of(out)


def text_of(events: EventBatch, index: int = 0) -> str:
    chosen = [orjson.loads(sse.encode(event)[5:])["choices"][0] for event in events if event.raw != sse.DONE]
    return "".join(choice["delta"].get("content", "") for choice in chosen if choice["index"] == index)


@pytest.mark.parametrize("at_once", [1, 3, 40, 1000])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 40])
def test_relayed_text_reads_like_the_whole_however_it_comes(size: int, at_once: int) -> None:
    assert relayed(pieces_of(TEXT, size), at_once) == whole(TEXT)


WORDS = st.sampled_from(
    [
        "at", "dot", "org", "a", "4", "12", "240", "2026", "4111", CARD, MAIL, "plain", "committee", "(", "[", "at)",
        "(at)", ",", ".", "-", "--", "@", "it's", '"', "password", "pin", "hunter22", ":", "=", "in", "the", "%", "17%",
        "3a", "–", "é", "1.", "2)", "**", "#", "://", "sg.", "\n", "cvv",
        "card security code", "605", "Привет", "je\u200bnny@exa\u200bmple.com", "&", "\\",
        "unzip -P", "mysql -u root -p", "requirepass", "XBQWgzweDkIB", "Xbqwgzwedkib", "Ab!deF", "ABCdeFgh.jk",
    ]
)  # fmt: skip
TEXTS = st.lists(st.tuples(WORDS, st.sampled_from([" ", " ", "", "  "])), max_size=12).map(
    lambda parts: "".join(itertools.chain.from_iterable(parts))
)


@pytest.mark.slow
@settings(max_examples=300)
@given(TEXTS, st.randoms(use_true_random=False))
def test_any_relayed_text_cut_anywhere_reads_like_the_whole(text: str, random: Any) -> None:
    cuts = sorted(random.sample(range(len(text) + 1), min(len(text), random.randint(0, 12))))
    pieces = [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)]) if a < b]
    relay, mask, out = Relay(), new_mask(), []
    while pieces:
        count = random.randint(1, 5)
        out += mask.push(relay.events(*pieces[:count]))
        del pieces[:count]
    assert text_of(out + mask.finish()) == whole(text)


@pytest.mark.slow
@settings(max_examples=500)
@given(TEXTS, st.integers(0, 80))
def test_the_glance_at_plain_words_says_nothing_that_the_full_look_does_not(text: str, start: int) -> None:
    start = min(start, len(text))
    cut = plain_text_cut(text, start)
    if cut >= 0:
        view = View(text)
        assert Scanner().scan_uncached(text) == [] and not view.is_shifted
        assert cut == max(holdback_start(view.folded, 0), start)


SENTENCES = ["The root password is § by the way.", "unzip -P § a.zip", "mysql -u root -p§ app"]
SENTENCES += ["requirepass § ", "psk § and"]


@pytest.mark.parametrize("value", ["XBQWgzweDkIB", "Hqzwvxkjbnmpr", "ab!dEf.Gh", "QWERTzuiopas"])
@pytest.mark.parametrize("text", SENTENCES)
def test_a_value_of_letters_alone_is_masked_in_a_stream_as_in_the_whole(text: str, value: str) -> None:
    text = text.replace("§", value)
    assert Scanner().scan(text) == Scanner().scan_uncached(text)
    for size in (1, 5, 40):
        assert relayed(pieces_of(text, size)) == whole(text)


SPELT = ("AKIAQWERTYUIOPASDFGH", "sk-abcdefghijklmnopqrstuvwxyzabcdef", "ghp_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ")


LINKS = [" ", ".", "_", "*", "/", "|", ",", "-", " - ", " . ", " | ", " * ", "\t", "\n", "\r\n", "  ", "\n\n", " \t "]


@pytest.mark.slow
@pytest.mark.parametrize("key", SPELT)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("before", "after"), [("", ""), ("the key is ", " and more of it"), ("key: ", "")])
def test_a_key_spelt_character_by_character_is_never_called_clean(key: str, link: str, before: str, after: str) -> None:
    text = before + link.join(key) + after
    assert plain_text_cut(text, 0) < 0
    found = Scanner().scan_uncached(text)
    assert Scanner().scan(text) == found and (found or key != SPELT[0])


@pytest.mark.parametrize("link", ["\t", "\n", "\r\n", "  "])
def test_columns_of_single_digits_are_no_number(link: str) -> None:
    assert Scanner().scan_uncached(f"votes{link}{link.join('4539148803436467')}{link}end") == []


@pytest.mark.parametrize("link", [" ", " - ", "\t", "\n", "\r\n", "  ", " \n "])
def test_a_key_spelt_out_in_a_stream_is_masked_however_it_is_cut(link: str) -> None:
    text = "the key is {} and that is all there is to say about it"
    for size in (1, 3, 50):
        assert relayed(pieces_of(text.format(link.join(SPELT[0])), size), 1) == text.format("[REDACTED:SECRET]")


def test_plain_prose_goes_out_by_the_bytes_it_came_with_but_for_its_last_words() -> None:
    relay, mask = Relay(), new_mask()
    events = relay.events(*[f" {word}" for word in ("plain", "harmless", "committee", "harvest") * 20])
    frames = [event.raw for event in events]
    out = mask.push(events)
    assert [event.raw for event in out] == frames[:-1] and [event.raw for event in mask.finish()] == frames[-1:]


def test_choices_that_take_turns_keep_their_order_and_do_not_mix() -> None:
    relay, mask, out = Relay(2), new_mask(), []
    left, right = pieces_of(f"pay with {CARD} now please", 3), pieces_of(f"write to {MAIL} today, will you", 3)
    pairs = itertools.zip_longest(left, right)
    turns = [event for pair in pairs for n, text in enumerate(pair) if text for event in relay.events(text, index=n)]
    for start in range(0, len(turns), 5):
        out += mask.push(turns[start : start + 5])
    out += mask.finish()
    assert out == turns and text_of(out, 0) == "pay with [REDACTED:CREDIT_CARD] now please"
    assert text_of(out, 1) == "write to [REDACTED:EMAIL] today, will you"


def test_a_choice_that_falls_silent_does_not_hold_up_a_relayed_one_for_ever() -> None:
    relay, mask = Relay(2), new_mask()
    mask.push(relay.events("the end 4111"))
    out = [event for _ in range(200) for event in mask.push(relay.events("plain words ", index=1))]
    assert len(out) > 200 - IDLE_EVENTS - 8 and text_of(out) == "the end 4111"


async def test_a_value_blocked_in_a_burst_lets_out_what_stood_before_it() -> None:
    table = actions(Sanitize(actions=SanitizeActions(responses={"CREDIT_CARD": "block"})), "responses")
    relay, mask = Relay(), new_mask(table)

    async def source() -> Any:
        yield relay.events(*pieces_of("plain words, many of them, " * 5, 7), *pieces_of(f"pay {CARD} now", 4))

    run = mask.run(source(), lambda error, last: [Event.from_bytes(sse.DONE)])
    out = [event async for batch in run for event in batch]
    assert text_of(out) == "plain words, many of them, " * 5 + "pay " and out[-1].raw == sse.DONE
