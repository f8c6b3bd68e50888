"""Which upstream a request's next attempt goes to, as their health allows."""

from collections.abc import AsyncGenerator

import pytest

from gateway.domain import Json, RequestStats
from gateway.errors import UpstreamError, UpstreamRefused, UpstreamUnavailable
from gateway.services.completion.attempts import ModelEntry, Plan, Target
from gateway.wire.chat.request import UpstreamOptions


class Named:
    """An upstream that is never called."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        raise NotImplementedError

    def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions", relay: object = None
    ) -> AsyncGenerator[list[bytes], None]:
        raise NotImplementedError


def target(name: str, weight: int) -> Target:
    return Target(Named(name), UpstreamOptions(model="m"), weight)


def model(*targets: Target) -> ModelEntry:
    return ModelEntry("M", "text", targets)


def silence(closed: Target) -> None:
    for caller in ("a", "b", "c", "d", "e"):
        closed.health.was_silent(caller)


async def test_the_first_upstream_is_called_and_the_next_one_when_it_fails() -> None:
    first, last, stats = target("first", 1), target("last", 0), RequestStats(key_id="k")
    plan = Plan([model(first, last)])
    async with plan.attempt(stats) as attempt:
        assert attempt.target is first
        raise UpstreamError("the answer broke off")
    async with plan.attempt(stats) as attempt:
        assert attempt.target is last
    assert (stats.attempts, stats.upstream) == (2, "last")


async def test_an_upstream_that_does_not_answer_is_passed_over() -> None:
    first, last = target("first", 1), target("last", 0)
    silence(first)
    async with Plan([model(first, last)]).attempt(RequestStats(key_id="k")) as attempt:
        assert attempt.target is last


async def test_where_none_answers_the_request_is_refused_with_a_time_to_come_back() -> None:
    only = target("only", 1)
    silence(only)
    with pytest.raises(UpstreamUnavailable) as refused:
        async with Plan([model(only)]).attempt(RequestStats(key_id="k")):
            pass
    assert refused.value.retry_after_s is not None and refused.value.retry_after_s >= 1


async def test_the_last_upstream_is_called_though_it_answers_badly() -> None:
    only, stats = target("only", 1), RequestStats(key_id="k")
    for _ in range(5):
        only.health.answered_badly("k")
    async with Plan([model(only)]).attempt(stats) as attempt:
        assert attempt.target is only


async def test_what_the_upstream_refuses_and_what_was_begun_is_not_tried_again() -> None:
    plan = Plan([model(target("first", 1), target("last", 0))])
    with pytest.raises(UpstreamRefused):
        async with plan.attempt(RequestStats(key_id="k")):
            raise UpstreamRefused("wrong", status=400, code="invalid_value")
    with pytest.raises(UpstreamError):
        async with plan.attempt(RequestStats(key_id="k")) as attempt:
            attempt.begin()
            raise UpstreamError("the answer broke off")
