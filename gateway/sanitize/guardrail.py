"""The second stage of sanitizing: a language model reads what the detectors have masked and may only add findings.

The model is called through `ports.ChatModel`, which never sanitizes, so the guardrail cannot call itself. Answers are
remembered under a keyed hash of the text, as positions and never as text; equal questions asked at the same time share
one call. A slow, broken or lying model costs at most the deadline; what a failure means is the caller's policy. Knows
no wire format beyond `prompt` and no masking.
"""

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Coroutine, Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from gateway.config import settings as config
from gateway.domain import Json
from gateway.errors import EngineMissing, GatewayError, ModelNotFound, UpstreamRefused
from gateway.ports import ChatModel
from gateway.resilience.bounded_cache import BoundedCache
from gateway.resilience.circuit_breaker import BreakerPolicy, CircuitBreaker
from gateway.resilience.single_flight import SingleFlight
from gateway.sanitize.guardrail_prompt import FORMATS, POLICY_VERSION, UnreadableAnswer, parse_findings, question

CHUNK_CHARS = 6000
_OVERLAP_CHARS = 200
_MAX_CHUNKS = 40
"""A chunk is about 1,500 tokens of English, which with prompt and answer fits the 4,096 of the embedded model. The
overlap is the longest value that is reported, so that each value is whole in one chunk. 40 chunks are 240,000
characters: more cannot be answered within any usual deadline."""

_MAX_CALLS = 4
"""Calls to the model at once. The slots of the embedded model, which it shares with chats."""

_MAX_ANSWERS = 4096
_ANSWER_TTL_S = 3600.0
"""An answer is a few positions, under 1 KB, so 4 MB. A chat's earlier turns come again with each new one, mostly
within the hour."""

GUARDRAIL_BREAKER = BreakerPolicy(
    failures_in_window=5,
    window_s=30.0,
    first_rest_s=15.0,
    longest_rest_s=15.0,
    probe_limit_s=120.0,
    late_outcomes_count=True,
)
"""Every failure may cost a request its whole deadline, so five within half a minute stop the calls. A probe is
bounded by the caller's deadline; its own limit only covers a probe that is lost. Late outcomes count, since the
deadline is reported by `Guardrail.find`, after its calls were cancelled and so released."""

_DEGRADED_S = 60.0
"""How long the status shows `degraded` after a failure. Twice the breaker's window."""

Answer = tuple[tuple[str, int, int], ...]
"""(entity, start, end) of each value in one chunk, in characters."""


class GuardrailFailed(Exception):
    """The model gave no usable answer in time."""


class Guardrail:
    """One for the whole server. `endpoint` and `model_name` are shown in the status and used for nothing else; with
    `enabled` False the caller does not call `find`, and the status says `disabled`."""

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
        self._answers: BoundedCache[bytes, Answer] = BoundedCache(_MAX_ANSWERS, ttl_s=_ANSWER_TTL_S, lru=True)
        self._calls: SingleFlight[bytes, Answer] = SingleFlight()
        self._slots = asyncio.Semaphore(_MAX_CALLS)
        self._format = 0
        self._called = self._misconfigured = False
        self.breaker = CircuitBreaker(GUARDRAIL_BREAKER)

    def status(self) -> Json:
        """`{enabled: bool, status, endpoint, model}`; `status` is one of disabled, misconfigured, unavailable,
        degraded, ok, and unknown before the first call."""
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
        if self.breaker.has_failed_within(_DEGRADED_S):
            return "degraded"
        return "ok" if self._called else "unknown"

    async def find(self, text: str) -> list[tuple[str, str]]:
        """(entity, value) of each value that the model finds in the text. Raises GuardrailFailed, within the deadline
        (`guardrail.timeout_s`)."""
        chunks = list(_chunks(text))
        if len(chunks) > _MAX_CHUNKS:
            raise GuardrailFailed("the text is too long to be judged in time")
        try:
            async with asyncio.timeout(self._timeout_s):
                findings = await _gather([self._find_in_chunk(chunk) for chunk in chunks])
        except TimeoutError as error:
            self._called = True
            self.breaker.failed()
            raise GuardrailFailed("the guardrail did not answer in time") from error
        return list(dict.fromkeys(finding for of_chunk in findings for finding in of_chunk))

    async def _find_in_chunk(self, chunk: str) -> list[tuple[str, str]]:
        key = hmac.digest(self._secret, f"{POLICY_VERSION}\0{chunk}".encode("utf-8", "replace"), hashlib.sha256)
        answer = self._answers.get(key)
        if answer is None:
            answer = await self._calls.run(key, lambda: self._call(key, chunk))
        return [(entity, chunk[start:end]) for entity, start, end in answer]

    async def _call(self, key: bytes, chunk: str) -> Answer:
        """Ask the model, report to the breaker, remember the answer."""
        if not self.breaker.take():
            raise GuardrailFailed("the guardrail is unavailable")
        try:
            async with self._slots:
                findings = parse_findings(await self._ask_model(chunk), chunk)
        except asyncio.CancelledError:
            self.breaker.release()  # every caller has left; if the deadline was the reason, `find` reports it
            raise
        except (GatewayError, UnreadableAnswer) as error:
            self._misconfigured = _is_misconfigured(error)
            self.breaker.failed()
            raise GuardrailFailed("the guardrail failed") from error
        finally:
            self._called = True
        self._misconfigured = False
        self.breaker.succeeded()
        answer = tuple((entity, chunk.index(value), chunk.index(value) + len(value)) for entity, value in findings)
        self._answers.put(key, answer)
        return answer

    async def _ask_model(self, chunk: str) -> Json:
        """The model's chat completion. Uses the best answer format that the endpoint accepts, and remembers it."""
        while True:
            number = self._format
            try:
                return await self._model.ask(question(chunk, FORMATS[number]), self._timeout_s)
            except UpstreamRefused as error:
                if error.status not in (400, 422) or number + 1 >= len(FORMATS):
                    raise
                self._format = max(self._format, number + 1)


async def _gather(calls: list[Coroutine[Any, Any, list[tuple[str, str]]]]) -> list[list[tuple[str, str]]]:
    """All results, or the first failure with nothing left running (`asyncio.gather` would leave the others)."""
    tasks = [asyncio.create_task(call) for call in calls]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        return list(map(asyncio.Task.result, [task for task in tasks if task.done()]))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # a task has its error, whose traceback leads here: a circle for the garbage collector, as TaskGroup makes, too
        tasks.clear()
        del task


def _is_misconfigured(error: Exception) -> bool:
    """Whether only the operator can mend it (credentials, model name, missing engine): waiting does not help."""
    if isinstance(error, UpstreamRefused):
        return error.status in (401, 403, 404)
    if isinstance(error, EngineMissing | ModelNotFound):
        return True
    return isinstance(error, GatewayError) and error.code in ("upstream_credentials", "upstream_misconfigured")


def _chunks(text: str) -> Iterator[str]:
    """Overlapping pieces of at most CHUNK_CHARS, cut at a space where the second half of a piece has one."""
    start = 0
    while len(text) - start > CHUNK_CHARS:
        cut = text.rfind(" ", start + CHUNK_CHARS // 2, start + CHUNK_CHARS)
        cut = cut if cut > 0 else start + CHUNK_CHARS
        yield text[start:cut]
        start = cut - _OVERLAP_CHARS
    yield text[start:]


def without_credentials(endpoint: str) -> str:
    """A URL without user, password, query and fragment; empty when it is not a URL."""
    try:
        parts = urlsplit(endpoint)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
