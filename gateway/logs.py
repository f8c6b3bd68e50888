"""Log lines: JSON, one event a line, to standard output; journald adds time and unit.

A line holds names, figures and ids of ours, never a key, a header, a query string, a prompt or an answer. What other
libraries log goes through the same formatter, without tracebacks below debug level: their texts may quote a request.
Knows nothing of requests: who logs says what.
"""

import logging
import re
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

import orjson

_MAX_CHARS = 1024
_SECRETS = re.compile(r"(?i)(bearer\s+|gw_|sk-|tvly-)[A-Za-z0-9._~+/=-]{6,}")
_SHORTEST_SECRET = 8
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

log = logging.getLogger("gateway")


def event(name: str, fields: Mapping[str, Any] | None = None, *, level: int = logging.INFO, **more: Any) -> None:
    """Write one line `{"ts", "level", "event": name, **fields, **more}` if the level is on. Fields are JSON values."""
    if log.isEnabledFor(level):
        record = logging.LogRecord(log.name, level, "", 0, name, (), None)  # looking for the caller's line costs 3 µs
        record.fields = {**(fields or {}), **more}
        log.handle(record)


def set_up(level: str, form: str, stream: TextIO | None = None) -> None:
    """Install the formatter on the root logger. `form` is `json` or `text`. Safe to call again."""
    logging.raiseExceptions = False  # a full disk must not reach a request
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # no line tells them
    handler = logging.StreamHandler(stream or sys.stdout)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    log.setLevel(_LEVELS[level])
    for noisy in ("aiohttp.access", "aiohttp.server"):  # they quote raw requests, Authorization included
        logging.getLogger(noisy).setLevel(logging.CRITICAL + 1)


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {"ts": round(record.created, 3), "level": record.levelname.lower(), **_fields(record)}
        return orjson.dumps(line, default=str).decode()


class TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(record)
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        rest = " ".join(f"{name}={value}" for name, value in fields.items() if name != "event")
        return f"{clock} {record.levelname.lower():7} {fields['event']} {rest}".rstrip()


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    own: Mapping[str, Any] | None = getattr(record, "fields", None)
    if own is not None:
        return {"event": record.msg, **{name: _safe(value) for name, value in own.items()}}
    foreign: dict[str, Any] = {"event": "log", "logger": record.name, "message": _safe(record.getMessage())}
    if record.exc_info and record.exc_info[0] is not None:
        foreign["error"] = record.exc_info[0].__name__
    return foreign


def _safe(value: Any) -> Any:
    """Second net: no control characters, no long texts, nothing that looks like a key."""
    if not isinstance(value, str):
        return value
    text = value[:_MAX_CHARS]
    if not text.isprintable():
        text = "".join(ch if ch.isprintable() else " " for ch in text)
    return _SECRETS.sub(r"\1[hidden]", text) if len(text) > _SHORTEST_SECRET and _SECRETS.search(text) else text


def failure(error: BaseException) -> str:
    """Where an unexpected error came from, without its text: `TypeError at completion.py:120`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{where}"
