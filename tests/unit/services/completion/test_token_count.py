"""Counting tokens: by the upstream's own tokenizer where it has a route for it, and None wherever it cannot say."""

from typing import Any

import pytest

from gateway.domain import Json, RequestStats
from gateway.errors import EngineMissing, GatewayError, UpstreamError, UpstreamUnavailable
from gateway.services.completion.attempts import ModelEntry, Target
from gateway.services.completion.service import TokenCounter
from gateway.wire.chat.request import UpstreamOptions

BODY: Json = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "system": "s", "max_tokens": 5}
IMAGE: Json = {"type": "image", "source": {"type": "url", "url": "http://x/"}}


class Counting:
    """An upstream that answers every count in the same way."""

    name = "counting"

    def __init__(self, answer: Json | GatewayError) -> None:
        self.answer = answer
        self.sent: list[tuple[str, Json]] = []

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "") -> Json:
        self.sent.append((route, body))
        if isinstance(self.answer, GatewayError):
            raise self.answer
        return self.answer

    def stream(self, body: Json, stats: RequestStats, *, route: str = "") -> Any:
        raise NotImplementedError


def entry(upstream: Counting) -> ModelEntry:
    return ModelEntry("m", "text", (Target(upstream, UpstreamOptions("theirs")),))


async def test_the_upstream_counts_what_is_text_and_gets_nothing_else() -> None:
    upstream = Counting({"input_tokens": 12})
    assert await TokenCounter().count(entry(upstream), BODY, RequestStats()) == 12
    sent = {"model": "theirs", "messages": BODY["messages"], "system": "s"}
    assert upstream.sent == [("messages/count_tokens", sent)]


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        (UpstreamError("no such route", code="upstream_misconfigured"), 1),
        (UpstreamUnavailable("busy"), 2),
        (EngineMissing("the engine is not installed"), 2),
        ({"tokens": 5}, 2),
    ],
)
async def test_an_upstream_that_cannot_say_is_asked_again_unless_it_has_no_such_route(
    answer: Json | GatewayError, asked: int
) -> None:
    upstream, counter = Counting(answer), TokenCounter()
    model = entry(upstream)
    assert [await counter.count(model, BODY, RequestStats()) for _ in range(2)] == [None, None]
    assert len(upstream.sent) == asked


@pytest.mark.parametrize("content", [[IMAGE], [{"type": "tool_result", "content": [IMAGE]}]])
async def test_what_holds_more_than_text_is_not_sent(content: Any) -> None:
    upstream = Counting({"input_tokens": 12})
    body = {**BODY, "messages": [{"role": "user", "content": content}]}
    assert await TokenCounter().count(entry(upstream), body, RequestStats()) is None and upstream.sent == []


async def test_a_model_without_upstreams_is_not_asked() -> None:
    assert await TokenCounter().count(ModelEntry("m", "text", ()), BODY, RequestStats()) is None
