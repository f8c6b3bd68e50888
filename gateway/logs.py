"""Log lines: JSON, one event a line, to standard output; journald adds time and unit.

Lines below warning are gathered for a moment and written together: a write of its own costs a request a tenth of its
time. They are written at once outside an event loop, and what is left at the end of the process.

A line holds names, figures and ids of ours, never a key, a header, a query string, a prompt or an answer. What other
libraries log goes through the same formatter, without tracebacks below debug level: their texts may quote a request.
Knows nothing of requests: who logs says what.
"""

import asyncio
import contextlib
import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

import orjson

from gateway.key_scrubber import scrub_keys

_MAX_FIELD_CHARS = 1024
_MAX_CHARS = 8192
_GATHER_S = 0.05
_MOST_GATHERED = 256
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_LEVEL_NAMES = {number: name for name, number in _LEVELS.items()}

log = logging.getLogger("gateway")


def event(name: str, fields: Mapping[str, Any] | None = None, *, level: int = logging.INFO, **more: Any) -> None:
    """Write one line `{"ts", "level", "event": name, **fields, **more}` if the level is on. Fields are JSON values."""
    events(name, [{**(fields or {}), **more}], level)


def events(name: str, many: Sequence[Mapping[str, Any]], level: int = logging.INFO) -> None:
    """A line for each of `many`."""
    if not log.isEnabledFor(level):
        return
    for handler in log.handlers:
        if isinstance(handler, EventHandler):
            handler.write_events(name, many, level)
    if log.propagate:  # nobody called set_up: a library's way
        for fields in many:
            log.log(level, name, extra={"fields": fields})


def set_up(level: str, form: str, stream: TextIO | None = None) -> None:
    """Send everything that is logged to one stream. `form` is `json` or `text`. Safe to call again."""
    logging.raiseExceptions = False  # a full disk must not reach a request
    flush()
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
        self._gathered: deque[str] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    def write_events(self, name: str, many: Sequence[Mapping[str, Any]], level: int) -> None:
        told = _LEVEL_NAMES.get(level) or logging.getLevelName(level).lower()
        head = {"ts": int(time.time() * 1000) / 1000, "level": told, "event": name}
        for fields in many:
            line = self._line({**head, **fields})
            self._gathered.append(line if len(line) <= _MAX_CHARS else line[:_MAX_CHARS] + "…")
        if level >= logging.WARNING or len(self._gathered) >= _MOST_GATHERED:
            self.flush()
            return
        if self._loop is not None and self._loop.is_running():
            return  # it will write what is gathered
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
            return
        self._loop.call_later(_GATHER_S, self._flush_late)

    def emit(self, record: logging.LogRecord) -> None:
        """What another library logs: its text, without a traceback."""
        fields: dict[str, Any] = {"logger": record.name, "message": record.getMessage()}
        if record.exc_info and record.exc_info[0] is not None:
            fields["error"] = record.exc_info[0].__name__
        self.write_events("log", [fields], record.levelno)

    def flush(self) -> None:
        lines = []
        while self._gathered:
            lines.append(self._gathered.popleft())
        with contextlib.suppress(OSError, ValueError):
            if lines:
                self.stream.write(scrub_keys("\n".join(lines)) + "\n")
            self.stream.flush()

    def _flush_late(self) -> None:
        self._loop = None
        self.flush()


def _json_line(fields: Mapping[str, Any]) -> str:
    line = orjson.dumps(fields, default=str)
    if len(line) > _MAX_FIELD_CHARS:  # else no field is longer
        line = orjson.dumps({name: _cut(value) for name, value in fields.items()}, default=str)
    return line.decode()


def _cut(value: Any) -> Any:
    return value[:_MAX_FIELD_CHARS] if isinstance(value, str) else value


def _text_line(fields: Mapping[str, Any]) -> str:
    clock = time.strftime("%H:%M:%S", time.localtime(fields["ts"]))
    rest = " ".join(f"{name}={value}" for name, value in fields.items() if name not in ("ts", "level", "event"))
    text = f"{clock} {fields['level']:7} {fields['event']} {rest}".rstrip()
    return "".join(ch if ch.isprintable() else " " for ch in text)


def flush() -> None:
    """Write out what was gathered."""
    for handler in log.handlers:
        handler.flush()


def failure(error: BaseException) -> str:
    """Where an unexpected error came from, without its text: `TypeError at completion.py:120`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{where}"
