"""The trace that a request belongs to, handed on to what it calls: the header `traceparent`. Makes no spans of its own.

A request without the header belongs to no trace, and nothing is sent on. Source: W3C Trace Context (Recommendation),
read 2026-11-22; modelcontextprotocol.io, `_meta.traceparent`."""

import re
from contextvars import ContextVar
from typing import Any

from gateway.random_ids import random_hex

HEADER = "traceparent"
"""Name of the header, and of the member of MCP's `_meta`."""

_FORM = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(?:-.{0,200})?")
"""Version, trace id, parent id, flags; later versions may add more. All zeros and version ff are not valid."""

_current: ContextVar[str | None] = ContextVar("trace", default=None)


def parent_of(value: Any) -> str | None:
    """What goes on to upstreams for a received `traceparent`: the same trace, a new parent id. None for any other
    value, which is then ignored as the standard asks."""
    found = _FORM.fullmatch(value) if isinstance(value, str) else None
    return f"00-{found[1]}-{random_hex(8)}-{found[2]}" if found is not None else None


def trace_id(parent: str) -> str:
    """The id of the trace, for the log."""
    return parent.split("-")[1]


def enter(parent: str | None) -> object:
    """From now on this task's calls belong to a trace. Returns what `leave` takes."""
    return _current.set(parent)


def leave(token: Any) -> None:
    """The end of what began with `enter`, in the same task."""
    _current.reset(token)


def outgoing() -> dict[str, str]:
    """The headers of a call to an upstream."""
    parent = _current.get()
    return {} if parent is None else {HEADER: parent}
