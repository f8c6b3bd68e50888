"""The pauses that hosts ask for (429, 503) during one call: other callers' calls do not see them.

A pause belongs to the call that met it, since a host limits whoever asks too often; a caller must not be able to close
a host to all others by making it say 429 once. Source of statuses and Retry-After: RFC 9110, RFC 6585.
"""

import asyncio
import math
import time

from gateway.engines.fetch.errors import FetchFailed

MAX_WAIT_S = 5.0
"""Longest pause that a request waits out. Chosen: half gives up on the usual 3 or 5 seconds; double takes half of a
tool call's time for one page."""
UNTOLD_PAUSE_S = 30.0
"""Pause after a 429 that names none. Chosen: longer than MAX_WAIT_S, so that the host is asked no more in this call; at
half or double only the time named in the error changes."""
_MAX_HOSTS = 1_000
"""Hosts whose pauses a call remembers. Chosen: bounds memory; hosts beyond it are only asked once too often."""


class HostPauses:
    """The pauses of one call's hosts (HOST:PORT)."""

    def __init__(self) -> None:
        self._ends: dict[str, float] = {}

    async def wait(self, host: str) -> None:
        """Waits for the end of a short pause that the host asked for. Raises FetchFailed during a long one."""
        left_s = self._ends.get(host, 0.0) - time.monotonic()
        if left_s > MAX_WAIT_S:
            message = (
                f"not asked for: the site answered another page of this call with 429 (too many requests) or 503; "
                f"try again in {math.ceil(left_s)} s"
            )
            raise FetchFailed(message, "http_status", http_status=429, retry_after_s=left_s)
        if left_s > 0:
            await asyncio.sleep(left_s)

    def note(self, host: str, status: int, asked_s: float | None) -> float | None:
        """The pause in seconds after an answer of this status, else None; it applies to the call's later requests.

        `asked_s` is its Retry-After.
        """
        if status == 429:
            wait_s = UNTOLD_PAUSE_S if asked_s is None else asked_s
        elif status == 503 and asked_s is not None:
            wait_s = asked_s
        else:
            return None
        if len(self._ends) < _MAX_HOSTS:
            self._ends[host] = time.monotonic() + wait_s
        return wait_s
