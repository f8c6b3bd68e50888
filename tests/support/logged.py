"""What the gateway's modules log in this process, as a test reads it."""

import io
import json
from collections.abc import Callable
from typing import Any

from gateway import logs

Logged = Callable[[str], list[dict[str, Any]]]


def collect_events() -> Logged:
    """From now on, `collected(name)` gives the log lines of that name."""
    stream = io.StringIO()
    logs.set_up("info", "json", stream)

    def named(name: str) -> list[dict[str, Any]]:
        logs.flush()
        return [line for line in map(json.loads, stream.getvalue().splitlines()) if line["event"] == name]

    return named
