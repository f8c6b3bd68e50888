"""Citations in streams point at their words when values were masked or put back before them, and in all copies."""

from typing import Any

import pytest

from tests.flows.test_responses_native import DONE, MESSAGE, event
from tests.support import upstream as up
from tests.support.asking import CHAT, RESPONSES, send, toml
from tests.support.gateways import InProcessGateway, StartGateway
from tests.support.upstream import Upstream

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


def pieces(size: int) -> list[str]:
    return [TEXT[at : at + size] for at in range(0, len(TEXT), size)]


def native(size: int) -> list[bytes]:
    at = {"output_index": 0, "item_id": "msg_up", "content_index": 0}
    part = {"type": "output_text", "text": TEXT, "annotations": citations(), "logprobs": []}
    item = {**MESSAGE, "content": [part]}
    added = "response.output_text.annotation.added"
    return [
        event("response.created", response={**DONE, "status": "in_progress", "output": []}),
        event("response.output_item.added", output_index=0, item={**item, "status": "in_progress", "content": []}),
        event("response.content_part.added", **at, part={**part, "text": "", "annotations": []}),
        *(event("response.output_text.delta", **at, delta=piece) for piece in pieces(size)),
        *(event(added, **at, annotation_index=n, annotation=note) for n, note in enumerate(citations())),
        event("response.output_text.done", **at, text=TEXT),
        event("response.content_part.done", **at, part=part),
        event("response.output_item.done", output_index=0, item=item),
        event("response.completed", response={**DONE, "output": [item]}),
    ]


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
async def test_citations_of_a_native_stream(
    start_gateway: StartGateway, upstream: Upstream, size: int, background: bool
) -> None:
    server = await start_gateway(toml(upstream, responses="'native'") + ROUTES)
    upstream.will(up.stream(*native(size)))
    asked = {"model": "SvcLLM", "input": f"I am {MAIL}", "stream": True, "background": background}
    _, events, _ = await send(server, RESPONSES, asked)
    assert of_stream(events) == [SHOWN] * 4
    place = f"{RESPONSES}/{events[-1]['response']['id']}"
    _, kept, _ = await send(server, place, method="GET")
    part = kept["output"][0]["content"][0]
    assert linked(part["text"], part["annotations"]) == SHOWN and "[REDACTED:CREDIT_CARD]" in part["text"]
    if background:
        _, again, _ = await send(server, f"{place}?stream=true", method="GET")
        assert of_stream(again) == [SHOWN] * 4


@pytest.fixture
async def chat(start_gateway: StartGateway, upstream: Upstream) -> InProcessGateway:
    return await start_gateway(toml(upstream) + ROUTES)


@pytest.mark.parametrize("size", [1, 7, 200])
async def test_citations_of_a_chat_stream(chat: InProcessGateway, upstream: Upstream, size: int) -> None:
    notes = [
        {"type": "url_citation", "url_citation": {name: note[name] for name in note if name != "type"}}
        for note in citations()
    ]
    upstream.will(
        up.stream(*(up.chunk({"content": piece}) for piece in pieces(size)), up.chunk({"annotations": notes}),
                  up.chunk({}, "stop"), up.DONE)
    )  # fmt: skip
    asked = {"model": "SvcLLM", "messages": [{"role": "user", "content": f"I am {MAIL}"}], "stream": True}
    _, events, _ = await send(chat, CHAT, asked)
    deltas = [choice["delta"] for each in events for choice in each["choices"]]
    text = "".join(delta.get("content") or "" for delta in deltas)
    assert linked(text, [note for delta in deltas for note in delta.get("annotations") or ()]) == SHOWN
