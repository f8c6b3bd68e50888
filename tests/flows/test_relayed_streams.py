"""Plain chunks go from the upstream's socket to the client's while no task wakes; what is no plain chunk wakes it."""

import asyncio
import itertools
from typing import Any

import pytest

from gateway.web.http_sink import HttpSink
from tests.support import upstream as up
from tests.support.asking import CHAT, MESSAGES, RESPONSES, ask_stream, said
from tests.support.doors import told_by
from tests.support.gateways import Gateway, Serve, upstream_toml
from tests.support.hosted_checks import check_events, check_response, plain
from tests.support.hosted_search import message_of, respond, round_of, scene, search, visible
from tests.support.upstream import Exchange, Script, Upstream

TEXTS = ["one ", "two ", 'a "quoted" one', "\nline ", "é ü 漢字 😀 ", *(f"word {number} " for number in range(40))]
TOKEN = "ghp_" + "x8Kq2mZ7vR4tB9nW1cY6pL3sD5fG0hJaQeUi"  # a made-up key of a real form
PLAIN = up.chunk({"content": "more "})


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each write of a relay had."""
    counts, write = list[int](), HttpSink.write_now

    def counted(self: HttpSink, frames: bytes, count: int) -> None:
        counts.append(count)
        write(self, frames, count)

    monkeypatch.setattr(HttpSink, "write_now", counted)
    return counts


def in_steps(pieces: list[bytes], last: bytes = b"0\r\n\r\n", stays_s: float = 0) -> Script:
    """A stream whose pieces come one by one, and then some bytes, for so many seconds or until the gateway leaves,
    after which nothing comes."""

    async def script(exchange: Exchange) -> None:
        await exchange.stream_head()
        for piece in pieces:
            await exchange.piece(piece)
            await asyncio.sleep(0.001)
        await exchange.raw(last)
        if stays_s:
            await exchange.gone(stays_s)

    return script


async def events_of(server: Gateway, **fields: Any) -> list[Any]:
    """The events of one answer; None stands for its clean end."""
    status, events = await ask_stream(server, **fields)
    assert status == 200
    return events


def cut_every(size: int) -> list[bytes]:
    whole = b"".join(up.text_stream(TEXTS))
    return [whole[start : start + size] for start in range(0, len(whole), size)]


EVENTS = up.text_stream(TEXTS)
CUTS = {
    "events": EVENTS,
    "a burst": [b"".join(EVENTS[:9]), *EVENTS[9:]],
    "150 bytes": cut_every(150),
    "1000 bytes": cut_every(1000),
}


@pytest.mark.parametrize("cut", CUTS)
async def test_a_relayed_answer_is_the_same_wherever_it_is_cut(server: Gateway, at_once: list[int], cut: str) -> None:
    server.upstream.will(in_steps(CUTS[cut]))
    events = await events_of(server)
    assert said(events) == "".join(TEXTS) and events[-1] is None
    assert sum(at_once) > 20, "most of it went the short way"
    assert f'"events":{len(events)}' in server.log_text().replace(": ", ":")


MASKED = ["the key is gh", TOKEN[2:20], TOKEN[20:] + " ", *TEXTS, "call [PHO", "NE_1] and [EMA", "IL_1] ", "now"]
SAID = {"balanced": "[EMAIL_1] ", "reversible": "jane@posthaus.org "}


@pytest.mark.parametrize("cut", [0, 150])
@pytest.mark.parametrize("profile", SAID)
async def test_a_masked_stream_goes_the_same_way_and_nothing_found_in_it_does(
    serve: Serve, upstream: Upstream, at_once: list[int], profile: str, cut: int
) -> None:
    more = f'[sanitize]\nroutes = ["chat"]\nprofile = "{profile}"\n[guardrail]\nenabled = "off"\n'
    server = await serve(upstream_toml(upstream.url) + more)
    whole = b"".join(up.text_stream(MASKED))
    pieces = [whole[start : start + cut] for start in range(0, len(whole), cut)] if cut else up.text_stream(MASKED)
    upstream.will(in_steps(pieces))
    events = await events_of(server, messages=[{"role": "user", "content": "jane@posthaus.org"}])
    before = "the key is [REDACTED:SECRET] "
    assert said(events) == f"{before}{''.join(TEXTS)}call [PHONE_1] and {SAID[profile]}now"
    assert sum(at_once) > 20 and events[-1] is None


async def test_a_blocked_finding_on_the_short_way_ends_the_stream_at_once(serve: Serve, at_once: list[int]) -> None:
    more = '[sanitize]\nroutes = ["chat"]\n[sanitize.actions.responses]\nSECRET = "block"\n'
    server = await serve(upstream_toml(serve.upstream.url) + more)
    begun = up.text_stream([*TEXTS, "the key is ", TOKEN + " and", " more ", "words ", "here "])[:-3]
    serve.upstream.will(in_steps(begun, b"", stays_s=30))  # it would be waited for
    events = await events_of(server)
    assert said(events) == "".join(TEXTS) + "the key is " and sum(at_once) > 20
    assert events[-2]["choices"][0]["finish_reason"] == "content_filter"


BEGUN = up.text_stream(TEXTS)[:-3]
FAULTS = {
    "no JSON": (b"%x\r\ndata: {no\n\n\r\n" % 11, "not JSON"),
    "an error": (b"%x\r\n" % 28 + b'data: {"error":{"code":500}}\n\n'[:28] + b"\r\n", ""),
    "a wrong frame": (b"zz\r\n", "broke off"),
    "its end": (b"0\r\n\r\n", "before the answer was complete"),
    "an endless line": (b"%x\r\ndata: " % 7_000_000 + b"x" * 7_000_000, "too large"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_stream_that_breaks_while_it_is_relayed_ends_with_an_error(
    server: Gateway, upstream: Upstream, at_once: list[int], fault: str
) -> None:
    last, words = FAULTS[fault]
    upstream.will(in_steps(BEGUN, last))
    events = await events_of(server)
    assert at_once and said(events) == "".join(TEXTS)
    assert "error" in events[-1] and words in str(events[-1])


async def test_a_connection_that_is_lost_while_it_is_relayed_ends_with_an_error(
    server: Gateway, upstream: Upstream, at_once: list[int]
) -> None:
    async def script(exchange: Exchange) -> None:
        await in_steps(BEGUN, b"")(exchange)
        exchange.reset()

    upstream.will(script)
    events = await events_of(server)
    assert at_once and "broke off" in str(events[-1])


async def test_what_a_full_client_cannot_take_at_once_goes_the_long_way_in_its_order(
    server: Gateway, upstream: Upstream, at_once: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = itertools.cycle((True, False, False))
    monkeypatch.setattr(HttpSink, "is_free", lambda sink: next(turns))
    upstream.will(in_steps(EVENTS))
    assert said(await events_of(server)) == "".join(TEXTS)
    assert 5 < len(at_once) < len(TEXTS) - 10


async def test_a_relayed_stream_ends_with_its_key(
    server: Gateway, upstream: Upstream, at_once: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gateway.access.keys import Keys

    is_live = Keys.is_live
    monkeypatch.setattr(Keys, "is_live", lambda keys, key_id: len(at_once) < 5 and is_live(keys, key_id))
    upstream.will(in_steps([*up.text_stream(TEXTS)[:2], *[PLAIN] * 100], b""))
    events = await events_of(server)
    assert "revoked" in str(events[-1]) and len(at_once) == 5


async def test_a_relayed_stream_ends_where_the_budget_of_its_key_ends(
    serve: Serve, upstream: Upstream, at_once: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    toml = upstream_toml(upstream.url) + "[limits]\ntokens_per_day = 700\n"
    ends = list[str]()
    for is_direct in (True, False):
        server = await serve(toml)
        if not is_direct:
            monkeypatch.setattr(HttpSink, "is_free", lambda sink: False)
            at_once.clear()
        upstream.will(in_steps([*EVENTS[:2], *[up.chunk({"content": "a few more words "})] * 400, *EVENTS[-3:]]))
        events = await events_of(server)
        assert events[-2]["choices"][0]["finish_reason"] == "length"
        assert bool(at_once) is is_direct
        ends.append(said(events))
    assert ends[0] == ends[1] and 1_000 < len(ends[0]) < 5_000


SEARCHES = {"tools": [{"type": "web_search"}]}
SEARCH = [{"type": "web_search_20250305", "name": "web_search"}]
TRANSLATED: dict[str, tuple[str, dict[str, Any]]] = {
    "responses": (RESPONSES, {}),
    "responses with web search": (RESPONSES, SEARCHES),
    "messages": (MESSAGES, {"max_tokens": 900}),
    "messages with web search": (MESSAGES, {"max_tokens": 900, "tools": SEARCH}),
    "chat with web search": (CHAT, {"web_search_options": {}}),
}


@pytest.mark.parametrize("cut", ["events", "150 bytes"])
@pytest.mark.parametrize("kind", TRANSLATED)
async def test_a_translated_answer_goes_the_same_way(serve: Serve, at_once: list[int], kind: str, cut: str) -> None:
    server = await serve(upstream_toml(serve.upstream.url))
    serve.upstream.will(in_steps(CUTS[cut]))
    path, more = TRANSLATED[kind]
    told = await told_by(server, path, stream=True, **more)
    assert told.text == "".join(TEXTS)
    assert sum(at_once) > 20, "most of it went the short way"
    if path == RESPONSES:
        assert [event["sequence_number"] for event in told.events] == list(range(len(told.events)))
        [item] = told.answer["output"]
        assert item["content"][0]["text"] == "".join(TEXTS)


async def test_a_masked_translation_goes_the_long_way(serve: Serve, upstream: Upstream, at_once: list[int]) -> None:
    more = '[sanitize]\nroutes = ["responses"]\n[guardrail]\nenabled = "off"\n'
    server = await serve(upstream_toml(upstream.url) + more)
    upstream.will(in_steps(up.text_stream(["the key is gh", TOKEN[2:20], TOKEN[20:] + " ", *TEXTS])))
    told = await told_by(server, RESPONSES, stream=True)
    assert "[REDACTED:SECRET]" in told.text and TOKEN[8:30] not in told.shown and not at_once


WORDS = [*EVENTS[:2], *[up.chunk({"content": "a few more words "})] * 500, *EVENTS[-3:]]


@pytest.mark.slow
@pytest.mark.parametrize("ends", [*FAULTS, "its budget"])
@pytest.mark.parametrize("kind", ["responses with web search", "messages", "chat with web search"])
async def test_a_translated_answer_ends_alike_on_both_ways(
    serve: Serve, upstream: Upstream, at_once: list[int], monkeypatch: pytest.MonkeyPatch, kind: str, ends: str
) -> None:
    path, more = TRANSLATED[kind]
    limits = "[limits]\ntokens_per_day = 1500\n" if ends == "its budget" else ""
    seen = list[tuple[str, list[Any]]]()
    for is_direct in (True, False):
        server = await serve(upstream_toml(upstream.url) + limits)
        if not is_direct:
            monkeypatch.setattr(HttpSink, "is_free", lambda sink: False)
            at_once.clear()
        upstream.will(in_steps(WORDS if limits else BEGUN, FAULTS[ends][0] if not limits else b"0\r\n\r\n"))
        told = await told_by(server, path, stream=True, **more)
        assert bool(at_once) is is_direct
        seen.append((told.text, [kind_of(event) for event in told.events[-3:]]))
    assert seen[0] == seen[1] and len(seen[0][0]) > 200
    assert "error" in str(seen[0][1]) or limits


def kind_of(event: Any) -> list[Any]:
    """What an event says beside its text."""
    delta = event.get("delta")
    reasons = [choice.get("finish_reason") for choice in event.get("choices", ())]
    return [event.get("type"), delta.get("stop_reason") if isinstance(delta, dict) else None, reasons, *event.keys()]


CITING = [
    "Well: ", "so ", "x [", "1] 里昂 ", "and ", "([b](https://b.example", ".org/lyon))", " 👩\u200d👩\u200d👧 ", "[2",
    "]", " then ", "end.",
]  # fmt: skip


async def test_citations_keep_their_places_on_both_ways(
    serve: Serve, at_once: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    async with scene(serve) as stage:
        for is_direct in (True, False):
            if not is_direct:
                monkeypatch.setattr(HttpSink, "is_free", lambda sink: False)
            stage.model.will(round_of(search()), in_steps(up.text_stream(CITING)))
            response = await respond(stage, include=["web_search_call.results"])
            assert (len(at_once) > 4) is is_direct
            at_once.clear()
            check_events(stage.extra)
            check_response(response)
            made.append(plain(response))
            cited = [words for words, _ in visible(message_of(response))]
            assert cited == ["[1]", "([b](https://b.example.org/lyon))", "[2]"]
    assert made[0] == made[1]
