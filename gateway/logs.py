"""Log lines: JSON, one event a line, to standard output; journald adds time and unit.

A line holds names, figures and ids of ours, never a key, a header, a query string, a prompt or an answer. What other
libraries log goes through the same formatter, without tracebacks below debug level: their texts may quote a request.
Knows nothing of requests: who logs says what.
"""

import contextlib
import logging
import re
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

import orjson

_MAX_FIELD_CHARS = 1024
_MAX_CHARS = 8192
_SECRETS = re.compile(r"(?i)(bearer\s+|gw_|sk-|tvly-)[A-Za-z0-9._~+/=-]{6,}")
_SHORTEST_SECRET = 8
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

log = logging.getLogger("gateway")


def event(name: str, fields: Mapping[str, Any] | None = None, *, level: int = logging.INFO, **more: Any) -> None:
    """Write one line `{"ts", "level", "event": name, **fields, **more}` if the level is on. Fields are JSON values."""
    if not log.isEnabledFor(level):
        return
    for handler in log.handlers:
        if isinstance(handler, EventHandler):
            handler.write_event(name, {**(fields or {}), **more}, level)
    if log.propagate:  # nobody called set_up: a library's way
        log.log(level, name, extra={"fields": {**(fields or {}), **more}})


def set_up(level: str, form: str, stream: TextIO | None = None) -> None:
    """Send everything that is logged to one stream. `form` is `json` or `text`. Safe to call again."""
    logging.raiseExceptions = False  # a full disk must not reach a request
    handler = EventHandler(stream or sys.stdout, _json_line if form == "json" else _text_line)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    log.handlers[:] = [handler]
    log.propagate = False
    log.setLevel(_LEVELS[level])
    for noisy in ("aiohttp.access", "aiohttp.server"):  # they quote raw requests, Authorization included
        logging.getLogger(noisy).setLevel(logging.CRITICAL + 1)


class EventHandler(logging.StreamHandler[TextIO]):
    """Our own events go straight to a line: one request is one line, and logging's records would cost more than it."""

    def __init__(self, stream: TextIO, line: Callable[[Mapping[str, Any]], str]) -> None:
        super().__init__(stream)
        self._line = line

    def write_event(self, name: str, fields: Mapping[str, Any], level: int) -> None:
        line = {"ts": round(time.time(), 3), "level": logging.getLevelName(level).lower(), "event": name, **fields}
        self._write(self._line(line))

    def emit(self, record: logging.LogRecord) -> None:
        """What another library logs: its text, without a traceback."""
        fields: dict[str, Any] = {"logger": record.name, "message": record.getMessage()}
        if record.exc_info and record.exc_info[0] is not None:
            fields["error"] = record.exc_info[0].__name__
        self.write_event("log", fields, record.levelno)

    def _write(self, line: str) -> None:
        """Second net: nothing that looks like a key, no control characters, no endless line."""
        if len(line) > _MAX_CHARS:
            line = line[:_MAX_CHARS] + "…"
        line = _SECRETS.sub(r"\1[hidden]", line)
        with contextlib.suppress(OSError, ValueError):
            self.stream.write(line + "\n")
            self.stream.flush()


def _json_line(fields: Mapping[str, Any]) -> str:
    cut = {name: value[:_MAX_FIELD_CHARS] if isinstance(value, str) else value for name, value in fields.items()}
    return orjson.dumps(cut, default=str).decode()


def _text_line(fields: Mapping[str, Any]) -> str:
    clock = time.strftime("%H:%M:%S", time.localtime(fields["ts"]))
    rest = " ".join(f"{name}={value}" for name, value in fields.items() if name not in ("ts", "level", "event"))
    text = f"{clock} {fields['level']:7} {fields['event']} {rest}".rstrip()
    return "".join(ch if ch.isprintable() else " " for ch in text)


def failure(error: BaseException) -> str:
    """Where an unexpected error came from, without its text: `TypeError at completion.py:120`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{where}"
