"""Ends a call for its client in whichever process it runs: another worker, another machine. Knows no tool.

As in `running_calls`, a call is ended only where exactly one fits. So the processes are asked first how many they have
(`calls?`, answered by `calls`), and after _ANSWERS_S, if all have one together, it is ended (`cancel`). A client is
named by a digest. Messages travel by `shared_state.bus`.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Hashable

from gateway.domain import Json
from gateway.mcp.messages import RequestId
from gateway.mcp.running_calls import RunningCall, RunningCalls
from gateway.shared_state.bus import Bus

_ANSWERS_S = 0.1
"""How long answers are waited for. Chosen: a message takes under a millisecond on a machine and a few between machines;
at half, the answer of a busy worker may be missed, at double every cancelled call runs on for that long."""

_MAX_ASKED = 1000
"""Cancellations that wait for answers; more are dropped, as any may be. Chosen: ten thousand a second."""


class Cancellations:
    """Cancels calls of this process's `running` and of all processes on the bus. Where there are no others it costs
    what `RunningCalls.cancel` costs."""

    def __init__(self, running: RunningCalls, bus: Bus) -> None:
        self._running = running
        self._bus = bus
        self._counts: dict[str, int] = {}
        bus.listen(self._receive)

    def cancel(self, client: Hashable, call_id: RequestId) -> None:
        """End the client's call with this id, if there is exactly one anywhere."""
        if not self._bus.has_others:
            self._running.cancel(client, call_id)
            return
        if len(self._counts) >= _MAX_ASKED:
            return
        token, digest = secrets.token_hex(8), _digest(client)
        self._counts[token] = len(self._find(digest, call_id))
        self._bus.send({"kind": "calls?", "token": token, "client": digest, "id": call_id})
        asyncio.get_running_loop().call_later(_ANSWERS_S, self._decide, token, digest, call_id)

    def _decide(self, token: str, digest: str, call_id: RequestId) -> None:
        if self._counts.pop(token) != 1:
            return
        if here := self._find(digest, call_id):
            here[0].cancel()
        else:
            self._bus.send({"kind": "cancel", "client": digest, "id": call_id})

    def _receive(self, message: Json) -> None:
        kind, token = message.get("kind"), message.get("token")
        if kind == "calls":
            if token in self._counts:
                self._counts[token] += int(message["count"])
            return
        call_id = message.get("id")
        if kind not in ("calls?", "cancel") or not isinstance(call_id, str | int):
            return
        here = self._find(str(message.get("client")), call_id)
        if kind == "calls?" and here:
            self._bus.send({"kind": "calls", "token": token, "count": len(here)})
        elif kind == "cancel" and len(here) == 1:
            here[0].cancel()

    def _find(self, digest: str, call_id: RequestId) -> list[RunningCall]:
        return self._running.find(lambda client: _digest(client) == digest, call_id)


def _digest(client: Hashable) -> str:
    return hashlib.sha256(repr(client).encode("utf-8", "surrogatepass")).hexdigest()[:32]
