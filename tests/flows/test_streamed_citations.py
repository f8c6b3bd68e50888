"""Citations in streams point at their words when values were masked or put back before them, and in all copies."""

from typing import Any

import pytest

from tests.support import upstream as up
from tests.support.asking import CHAT, RESPONSES, send, toml
from tests.support.gateways import Gateway, Serve
from tests.support.pieces import pieces_of
from tests.support.upstream import Exchange, Upstream

MAIL, CARD = "jane.doe@posthaus.org", "4539 1488 0343 6467"
TEXT = f"[EMAIL_1] paid with {CARD}, says the report that [EMAIL_1] wrote."
"""What the model says: the mail was told, the card is found."""
LINKS = ("[EMAIL_1]", "report", "[EMAIL_1] wrote")
SHOWN = [MAIL, "report", f"{MAIL} wrote"]
ROUTES = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat", "responses"]\nprofile = "reversible"\n'


def citations() -> list[dict[str, Any]]:
    starts = [TEXT.index(LINKS[0]), TEXT.index(LINKS[1]), TEXT.index(LINKS[2])]
    spans = zip(starts, LINKS, strict=True)
    return [
        {"type": "url_citation", "start_index": start, "end_index": start + len(link), "url": f"https://x.org/{start}"}
        for start, link in spans
    ]


def native() -> dict[str, Any]:
    return up.response(up.response_message(TEXT, annotations=citations()))


def linked(text: str, notes: list[Any]) -> list[str]:
    found = [note.get("url_citation", note) for note in notes]
    return [text[note["start_index"] : note["end_index"]] for note in found]


def of_stream(events: list[Any]) -> list[list[str]]:
    """The words that the citations of a responses stream mark, by the event that holds them."""
    text = "".join(each["delta"] for each in events if each["type"] == "response.output_text.delta")
    added = [each["annotation"] for each in events if each["type"] == "response.output_text.annotation.added"]
    parts = [each["part"] for each in events if each["type"] == "response.content_part.done"]
    items = [each["item"] for each in events if each["type"] == "response.output_item.done"]
    parts += [item["content"][0] for item in (*items, *events[-1]["response"]["output"])]
    return [linked(text, added), *(linked(part["text"], part["annotations"]) for part in parts)]


@pytest.mark.parametrize("size", [1, 7, 200])
@pytest.mark.parametrize("background", [False, True], ids=["live", "background"])
async def test_citations_of_a_native_stream(serve: Serve, upstream: Upstream, size: int, background: bool) -> None:
    server = await serve(toml(upstream, responses="'native'") + ROUTES)
    upstream.will(up.stream(*up.response_stream(native(), size)))
    asked = {"model": "SvcLLM", "input": f"I am {MAIL}", "stream": True, "background": background}
    _, events, _ = await send(server, RESPONSES, asked)
    assert of_stream(events) == [SHOWN] * 4 and CARD not in str(events)
    place = f"{RESPONSES}/{events[-1]['response']['id']}"
    _, kept, _ = await send(server, place, method="GET")
    part = kept["output"][0]["content"][0]
    assert linked(part["text"], part["annotations"]) == SHOWN and "[REDACTED:CREDIT_CARD]" in part["text"]
    if background:
        _, again, _ = await send(server, f"{place}?stream=true", method="GET")
        assert of_stream(again) == [SHOWN] * 4 and CARD not in str(again)


@pytest.fixture
async def chat(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(toml(upstream) + ROUTES)


def nested() -> list[dict[str, Any]]:
    """The citations as chat has them."""
    return [
        {"type": "url_citation", "url_citation": {name: note[name] for name in note if name != "type"}}
        for note in citations()
    ]


def chat_chunks(size: int) -> list[bytes]:
    texts = [up.chunk({"content": piece}) for piece in pieces_of(TEXT, size)]
    return [*texts, up.chunk({"annotations": nested()}), up.chunk({}, "stop"), up.DONE]


async def asked_on_chat(server: Gateway, stream: bool) -> list[str]:
    """The words that the citations of a chat answer mark."""
    asked = {"model": "SvcLLM", "messages": [{"role": "user", "content": f"I am {MAIL}"}], "stream": stream}
    _, answer, _ = await send(server, CHAT, asked)
    messages = [choice["delta"] for each in answer for choice in each["choices"]] if stream else []
    messages = messages or [answer["choices"][0]["message"]]
    text = "".join(message.get("content") or "" for message in messages)
    return linked(text, [note for message in messages for note in message.get("annotations") or ()])


@pytest.mark.parametrize("size", [1, 7, 200])
async def test_citations_of_a_chat_stream(chat: Gateway, upstream: Upstream, size: int) -> None:
    upstream.will(up.stream(*chat_chunks(size)))
    assert await asked_on_chat(chat, stream=True) == SHOWN


@pytest.mark.parametrize("background", [False, True], ids=["live", "background"])
async def test_citations_of_a_chat_upstream_are_on_the_responses_route(chat: Gateway, background: bool) -> None:
    asked = {"model": "SvcLLM", "input": f"I am {MAIL}", "background": background}
    chat.upstream.will(up.stream(*chat_chunks(7)))
    _, events, _ = await send(chat, RESPONSES, {**asked, "stream": True})
    assert of_stream(events) == [SHOWN, SHOWN, SHOWN, SHOWN]
    if not background:
        whole = up.completion(TEXT)
        whole["choices"][0]["message"]["annotations"] = nested()
        chat.upstream.will(up.answer(whole))
        _, answer, _ = await send(chat, RESPONSES, asked)
        part = answer["output"][0]["content"][0]
        assert linked(part["text"], part["annotations"]) == SHOWN
        assert part["annotations"][0] == {**part["annotations"][0], "type": "url_citation", "url": "https://x.org/0"}


@pytest.mark.parametrize("stream", [False, True])
async def test_citations_of_a_responses_upstream_are_on_the_chat_route(serve: Serve, stream: bool) -> None:
    async def script(exchange: Exchange) -> None:
        if exchange.seen.path.endswith("chat/completions"):
            await up.answer({"detail": "Not Found"}, status=404)(exchange)
        elif exchange.seen.body.get("stream"):
            await up.stream(*up.response_stream(native(), 7))(exchange)
        else:
            await up.answer(native())(exchange)

    server = await serve(toml(serve.upstream, responses="'native'") + ROUTES)
    serve.upstream.will(script)
    assert await asked_on_chat(server, stream) == SHOWN
