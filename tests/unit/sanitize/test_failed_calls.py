"""What is left of a guardrail call that failed."""

import asyncio
from contextlib import suppress

import pytest

from gateway.config import settings as config
from gateway.domain import Json
from gateway.errors import UpstreamError
from gateway.sanitize.guardrail import Guardrail, GuardrailFailed
from tests.support.errors_alive import errors_alive, no_collections


class Raising:
    """`ports.ChatModel` that raises an error of its own at each call, or never answers."""

    def __init__(self, is_silent: bool) -> None:
        self.is_silent = is_silent

    async def ask(self, body: Json, timeout_s: float) -> Json:
        if self.is_silent:
            await asyncio.Event().wait()
        raise UpstreamError("dead")


@pytest.mark.parametrize("is_silent", [False, True])
async def test_a_call_that_failed_lets_its_text_go_without_the_garbage_collector(is_silent: bool) -> None:
    judge = Guardrail(config.GuardrailSettings(timeout_s=0.05), Raising(is_silent), "", "m")
    with no_collections():
        before = len(errors_alive())
        for _ in range(3):
            with suppress(GuardrailFailed):
                await judge.find("word " * 3_000)
        await asyncio.sleep(0)
        assert len(errors_alive()) == before
