"""Log lines: JSON or text, one event a line, to standard output.

Lines below warning are buffered for a moment and written together, because a write for each costs a request a tenth of
its time. They are written at once where no event loop runs, and `flush` writes the rest before the process ends.

A line holds names, figures and ids of the gateway, never a key, a header, a query string, a prompt or an answer. What
other libraries log goes through the same formatter, without tracebacks, which may quote a request. The caller chooses
the fields.
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
"""Most characters of a field and of a line; journald splits lines above 48 KiB."""
_BUFFER_S = 0.05
_MAX_BUFFERED = 256
"""Seconds that lines wait, and how many may wait; a crash loses no more than these."""
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_LEVEL_NAMES = {number: name for name, number in _LEVELS.items()}

log = logging.getLogger("gateway")
log.addHandler(logging.NullHandler())  # commands, which never call `set_up`, print no bare names of events


def event(name: str, fields: Mapping[str, Any] | None = None, *, level: int = logging.INFO, **more: Any) -> None:
    """Log one line `{"ts", "level", "event": name, **fields, **more}` if `level` is on.

    `ts` is unix seconds with milliseconds. Values are JSON values; others are written as their `str`. Never raises for
    a full disk or a closed stream.
    """
    events(name, [{**(fields or {}), **more}], level)


def events(name: str, rows: Sequence[Mapping[str, Any]], level: int = logging.INFO) -> None:
    """Equals `event(name, fields)` for each `fields` of `rows`, with one look at level and handlers."""
    if not log.isEnabledFor(level):
        return
    for handler in log.handlers:
        if isinstance(handler, EventHandler):
            handler.write_events(name, rows, level)
    if log.propagate:  # set_up was not called, as in tests and when used as a library
        for fields in rows:
            log.log(level, name, extra={"fields": fields})


def set_up(level: str, form: str, stream: TextIO | None = None, *, to_journal: bool = False) -> None:
    """Send everything that is logged to one stream, by default standard output. May be called again.

    `level`: `debug`, `info`, `warning` or `error`, for the gateway's own lines; other libraries log from warning on.
    `form`: `json` or `text`. `to_journal`: each line begins with its priority, as systemd's journal wants it.
    """
    logging.raiseExceptions = False  # a full disk must not reach a request
    flush()
    line = _json_line if form == "json" else _text_line
    handler = EventHandler(stream or sys.stdout, _with_priority(line) if to_journal else line)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    log.handlers[:] = [handler]
    log.propagate = False
    log.setLevel(_LEVELS[level])
    for noisy in ("aiohttp.access", "aiohttp.server"):  # they quote raw requests, Authorization included
        logging.getLogger(noisy).setLevel(logging.CRITICAL + 1)


class EventHandler(logging.StreamHandler[TextIO]):
    """Writes lines to `stream`, each made from its fields by `line`.

    The gateway's events come through `write_events` and never become a `LogRecord`, which costs more than the line.

    | when                                        | what happens to a line                         |
    |---------------------------------------------|------------------------------------------------|
    | an event loop runs, below warning           | buffered; a timer of the loop flushes          |
    | no event loop runs, or warning and above    | written at once, after the lines buffered before |
    | `_MAX_BUFFERED` lines are buffered          | all are written at once                        |

    `_loop` is the loop whose timer will flush; one that has stopped is replaced at the next line.
    """

    def __init__(self, stream: TextIO, line: Callable[[Mapping[str, Any]], str]) -> None:
        super().__init__(stream)
        self._line = line
        self._buffer: deque[str] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    def write_events(self, name: str, rows: Sequence[Mapping[str, Any]], level: int) -> None:
        """Buffer or write a line `{"ts", "level", "event": name, **fields}` for each `fields` of `rows`."""
        level_name = _LEVEL_NAMES.get(level) or logging.getLevelName(level).lower()
        head = {"ts": int(time.time() * 1000) / 1000, "level": level_name, "event": name}
        for fields in rows:
            line = self._line({**head, **fields})
            self._buffer.append(line if len(line) <= _MAX_CHARS else line[:_MAX_CHARS] + "…")
        if level >= logging.WARNING or len(self._buffer) >= _MAX_BUFFERED:
            self.flush()
            return
        if self._loop is not None and self._loop.is_running():
            return  # its timer is set
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
            return
        self._loop.call_later(_BUFFER_S, self._flush_by_timer)

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record of another library: its text and the class of its exception, without the traceback."""
        fields: dict[str, Any] = {"logger": record.name, "message": record.getMessage()}
        if record.exc_info and record.exc_info[0] is not None:
            fields["error"] = record.exc_info[0].__name__
        self.write_events("log", [fields], record.levelno)

    def flush(self) -> None:
        """Write what is buffered, with keys hidden (`scrub_keys`). A stream that fails loses the lines silently."""
        lines = []
        while self._buffer:
            lines.append(self._buffer.popleft())
        with contextlib.suppress(OSError, ValueError):
            if lines:
                self.stream.write(scrub_keys("\n".join(lines)) + "\n")
            self.stream.flush()

    def _flush_by_timer(self) -> None:
        self._loop = None
        self.flush()


_PRIORITIES = {"error": 3, "warning": 4, "info": 6, "debug": 7}
"""Numbers of syslog(3), which sd-daemon(3) puts before a line as `<N>`; the journal strips them off."""


def _with_priority(line: Callable[[Mapping[str, Any]], str]) -> Callable[[Mapping[str, Any]], str]:
    return lambda fields: f"<{_PRIORITIES.get(fields['level'], 2)}>{line(fields)}"


def _json_line(fields: Mapping[str, Any]) -> str:
    line = orjson.dumps(fields, default=str)
    if len(line) > _MAX_FIELD_CHARS:  # only then can a field be too long
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
    """Write what is buffered. Call it before the process ends."""
    for handler in log.handlers:
        handler.flush()


def failure(error: BaseException) -> str:
    """The class of an unexpected error and the line that raised it, without its text: `TypeError at service.py:120`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{where}"
