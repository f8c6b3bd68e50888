"""Ends a call for its client in whichever process it runs: another worker, another machine. Knows no tool.

As in `running_calls`, a call is ended only where exactly one fits. So the processes are asked how many they have
(`calls?`), each answers (`calls`), and if all have one together, it is ended (`cancel`). While a process that was asked
has not answered, it may have one that looks alike: after _LIMIT_S without its answer nothing is ended. A client is
named by a digest. Messages travel by `shared_state.bus`.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial

from gateway.domain import Json
from gateway.mcp.messages import RequestId
from gateway.mcp.running_calls import RunningCall, RunningCalls
from gateway.shared_state.bus import Bus

_LIMIT_S = 2.0
"""How long answers are waited for. Chosen: one takes under a millisecond on a machine and a few between machines, and a
worker may be busy for some tenths of a second; at half, the cancellations of a busy gateway may be lost, at double they
are kept longer for the answer of one that hangs."""

_MAX_ASKED = 1000
"""Cancellations that wait for answers; more are dropped, as any may be. Chosen: each has 500 bytes, and lasts for
milliseconds. At half, 250 a second are kept while a process hangs; at double, a megabyte may be held."""


@dataclass(slots=True)
class _Question:
    """One cancellation that waits. `asked`: processes that were asked, None before it is known."""

    digest: str
    call_id: RequestId
    found: int
    answers: int = 0
    asked: int | None = None
    limit: asyncio.TimerHandle | None = None


class Cancellations:
    """Cancels calls of this process's `running` and of all processes on the bus. Where there are no others it costs
    what `RunningCalls.cancel` costs."""

    def __init__(self, running: RunningCalls, bus: Bus) -> None:
        self._running = running
        self._bus = bus
        self._questions: dict[str, _Question] = {}
        bus.listen(self._receive)

    @property
    def waiting(self) -> int:
        """Cancellations that wait for answers."""
        return len(self._questions)

    def cancel(self, client: Hashable, call_id: RequestId) -> None:
        """End the client's call with this id, if there is exactly one anywhere."""
        if not self._bus.has_others:
            self._running.cancel(client, call_id)
            return
        if len(self._questions) >= _MAX_ASKED:
            return
        token, digest = secrets.token_hex(8), _digest(client)
        question = _Question(digest, call_id, found=len(self._find(digest, call_id)))
        self._questions[token] = question
        question.limit = asyncio.get_running_loop().call_later(_LIMIT_S, self._questions.pop, token, None)
        message = {"kind": "calls?", "token": token, "client": digest, "id": call_id}
        self._bus.send(message, partial(self._note_asked, token))

    def _note_asked(self, token: str, count: int) -> None:
        if question := self._questions.get(token):
            question.asked = count
            self._decide(token, question)

    def _note_answer(self, token: str, count: int) -> None:
        if question := self._questions.get(token):
            question.answers += 1
            question.found += count
            self._decide(token, question)

    def _decide(self, token: str, question: _Question) -> None:
        """End the call when all have answered, and one has it."""
        if question.asked is None or question.answers < question.asked:
            return
        del self._questions[token]
        if question.limit is not None:
            question.limit.cancel()
        if question.found != 1:
            return
        if here := self._find(question.digest, question.call_id):
            here[0].cancel()
        else:
            self._bus.send({"kind": "cancel", "client": question.digest, "id": question.call_id})

    def _receive(self, message: Json) -> None:
        kind, token = message.get("kind"), str(message.get("token"))
        if kind == "calls":
            count = message.get("count")
            if isinstance(count, int):
                self._note_answer(token, count)
            return
        call_id = message.get("id")
        if kind not in ("calls?", "cancel") or not isinstance(call_id, str | int):
            return
        here = self._find(str(message.get("client")), call_id)
        if kind == "calls?":
            self._bus.send({"kind": "calls", "token": token, "count": len(here)})
        elif len(here) == 1:
            here[0].cancel()

    def _find(self, digest: str, call_id: RequestId) -> list[RunningCall]:
        return self._running.find(lambda client: _digest(client) == digest, call_id)


def _digest(client: Hashable) -> str:
    return hashlib.sha256(repr(client).encode("utf-8", "surrogatepass")).hexdigest()[:32]
