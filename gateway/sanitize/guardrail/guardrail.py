"""The second stage: the service's own language model looks at what the detectors have masked, and may only add to it.

It is asked through `ports.ChatModel`, which never sanitizes again, so it cannot call itself. Answers are kept under a
keyed hash of the text, as places and never as text; the same question asked twice at once is asked once. Slow, broken
and lying models cost at most the deadline: what a failure means is the caller's policy.
"""

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Coroutine, Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from gateway.config import settings as config
from gateway.domain import Json
from gateway.errors import EngineMissing, GatewayError, ModelNotFound, UpstreamRefused
from gateway.ports import ChatModel
from gateway.sanitize.guardrail.breaker import Breaker
from gateway.sanitize.guardrail.prompt import FORMATS, POLICY_VERSION, Unreadable, findings, question

CHUNK_CHARS = 6000
_OVERLAP = 200
_MOST_CHUNKS = 40
_AT_ONCE = 4
_KEPT = 4096
_KEPT_S = 3600

Answer = tuple[tuple[str, int, int], ...]
"""(entity, start, end) of each value in the text asked about."""


class GuardrailFailed(Exception):
    """No judgement could be had in time."""


class Guardrail:
    """`endpoint` and `model_name` are for the status. `enabled` false: never asked, only described."""

    def __init__(
        self,
        settings: config.GuardrailSettings,
        model: ChatModel,
        endpoint: str,
        model_name: str,
        *,
        enabled: bool = True,
    ) -> None:
        self.enabled = enabled and settings.enabled != "off"
        self.closed_for = {
            "requests": settings.on_failure == "closed",
            "responses": settings.on_failure_responses == "closed",
        }
        self._model = model
        self._endpoint = without_credentials(endpoint)
        self._model_name = model_name
        self._timeout_s = settings.timeout_s
        self._secret = secrets.token_bytes(32)
        self._kept: OrderedDict[bytes, tuple[float, Answer]] = OrderedDict()
        self._asking: dict[bytes, _Question] = {}
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._format = 0
        self._called = self._misconfigured = False
        self.breaker = Breaker()

    def status(self) -> Json:
        return {
            "enabled": self.enabled,
            "status": self._status(),
            "endpoint": self._endpoint,
            "model": self._model_name,
        }

    def _status(self) -> str:
        if not self.enabled:
            return "disabled"
        if self._misconfigured:
            return "misconfigured"
        if self.breaker.is_open:
            return "unavailable"
        if self.breaker.has_failed_lately:
            return "degraded"
        return "ok" if self._called else "unknown"

    async def look(self, text: str) -> list[tuple[str, str]]:
        """(entity, value) of what the model finds in the text. Raises GuardrailFailed, within the deadline."""
        chunks = list(_chunks(text))
        if len(chunks) > _MOST_CHUNKS:
            raise GuardrailFailed("the text is too long to be judged in time")
        try:
            async with asyncio.timeout(self._timeout_s):
                answers = await _all([self._judge(chunk) for chunk in chunks])
        except TimeoutError as error:
            self._called = True
            self.breaker.failed()
            raise GuardrailFailed("the guardrail did not answer in time") from error
        return list(dict.fromkeys(found for answer in answers for found in answer))

    async def _judge(self, chunk: str) -> list[tuple[str, str]]:
        key = hmac.digest(self._secret, f"{POLICY_VERSION}\0{chunk}".encode("utf-8", "replace"), hashlib.sha256)
        answer = self._recall(key)
        if answer is None:
            answer = await self._ask_once(key, chunk)
        return [(entity, chunk[start:end]) for entity, start, end in answer]

    def _recall(self, key: bytes) -> Answer | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        if kept[0] < time.monotonic():
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        return kept[1]

    async def _ask_once(self, key: bytes, chunk: str) -> Answer:
        """Join the question if someone is asking it already. Who gives up leaves it to the others."""
        asking = self._asking.get(key)
        if asking is None:
            if not self.breaker.may_call():
                raise GuardrailFailed("the guardrail is unavailable")
            asking = self._asking[key] = _Question(asyncio.create_task(self._ask(key, chunk)))
        asking.waiting += 1
        try:
            return await asyncio.shield(asking.task)
        finally:
            asking.waiting -= 1
            if not asking.waiting:
                asking.task.cancel()

    async def _ask(self, key: bytes, chunk: str) -> Answer:
        try:
            async with self._slots:
                found = findings(await self._answer(chunk), chunk)
        except asyncio.CancelledError:
            self.breaker.abandoned()  # nobody waits for it any more; a deadline is told by who had it
            raise
        except (GatewayError, Unreadable) as error:
            self._misconfigured = _is_misconfigured(error)
            self.breaker.failed()
            raise GuardrailFailed("the guardrail failed") from error
        finally:
            self._called = True
            self._asking.pop(key, None)
        self._misconfigured = False
        self.breaker.succeeded()
        answer = tuple((entity, chunk.index(value), chunk.index(value) + len(value)) for entity, value in found)
        self._kept[key] = time.monotonic() + _KEPT_S, answer
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return answer

    async def _answer(self, chunk: str) -> Json:
        """Ask in the best way the endpoint takes, and remember which that is."""
        while True:
            tried = self._format
            try:
                return await self._model.ask(question(chunk, FORMATS[tried]), self._timeout_s)
            except UpstreamRefused as error:
                if error.status not in (400, 422) or tried + 1 >= len(FORMATS):
                    raise
                self._format = max(self._format, tried + 1)


async def _all(judging: list[Coroutine[Any, Any, list[tuple[str, str]]]]) -> list[list[tuple[str, str]]]:
    """All results, or the first failure and nothing left running."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in judging]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


class _Question:
    __slots__ = ("task", "waiting")

    def __init__(self, task: "asyncio.Task[Answer]") -> None:
        self.task, self.waiting = task, 0
        task.add_done_callback(_retrieve)


def _retrieve(task: "asyncio.Task[Answer]") -> None:
    if not task.cancelled():
        task.exception()


def _is_misconfigured(error: Exception) -> bool:
    """Whether waiting will not help: the operator must act."""
    if isinstance(error, UpstreamRefused):
        return error.status in (401, 403, 404)
    if isinstance(error, EngineMissing | ModelNotFound):
        return True
    return isinstance(error, GatewayError) and error.code in ("upstream_credentials", "upstream_misconfigured")


def _chunks(text: str) -> Iterator[str]:
    """Pieces that overlap, cut at spaces."""
    start = 0
    while len(text) - start > CHUNK_CHARS:
        cut = text.rfind(" ", start + CHUNK_CHARS // 2, start + CHUNK_CHARS)
        cut = cut if cut > 0 else start + CHUNK_CHARS
        yield text[start:cut]
        start = cut - _OVERLAP
    yield text[start:]


def without_credentials(endpoint: str) -> str:
    """The address without user, password, query and fragment."""
    try:
        parts = urlsplit(endpoint)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
