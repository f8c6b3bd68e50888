"""The data of the console, on the ops listener alone, for keys with the scope `admin`: usage, the last requests,
upstreams, what the sanitizer would do with a text, and the keys themselves.
"""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from gateway import schemas
from gateway.access.keys import KeyRegistry, KeyRequest, shown
from gateway.access.usage import GROUPS, UsageReader, is_day, named, together
from gateway.config.dump import config_text
from gateway.config.settings import Config
from gateway.domain import Json, WebCall
from gateway.errors import InvalidRequest, StateUnavailable
from gateway.resilience.single_flight import in_thread
from gateway.sanitize.report import preview
from gateway.services.websearch.tools import WebTools
from gateway.shared_state.port import StateDown
from gateway.shared_state.sqlite_state import file_problem
from gateway.web.handlers.model_routes import by_schema
from gateway.web.history import FAULT_RANGES, RANGES, History
from gateway.web.replies import JsonReply
from gateway.web.state import CALL

# The console lists, makes, edits, rotates and revokes keys here, on the operations listener alone and with a key of the
# scope `admin`. The gateway shows a new key once, in the answer that made it. An admin key can make keys of any scope.


T = TypeVar("T")


class AdminKeysHandler:
    """The keys of `registry`, the one that `gateway keys` writes."""

    def __init__(self, registry: KeyRegistry) -> None:
        self._registry = registry
        self.check = by_schema(schemas.load("admin_key"))
        self.check_changes = by_schema(schemas.load("admin_key_changes"))

    async def listing(self, request: web.Request) -> web.StreamResponse:
        """`{keys: [{id, name, scopes, created, expires?, limits…}], own}`, newest first; `own` is the caller's id."""
        records = await _in_thread(self._registry.read)
        listed = [shown(record) for record in sorted(records, key=lambda record: -record.created)]
        return JsonReply({"keys": listed, "own": request[CALL].stats.key_id})

    async def create(self, request: web.Request) -> web.StreamResponse:
        """`{key, record}`: the key's text, which is stored nowhere, and its record."""
        call = request[CALL]
        body: Json = call.body
        call.body = None
        key, record = await _in_thread(self._registry.create, KeyRequest(**_properties(body)))
        return JsonReply({"key": key, "record": shown(record)})

    async def edit(self, request: web.Request) -> web.StreamResponse:
        """`{record}`: what the body does not have stays, null takes a limit or the expiry away. Raises NotFound, and
        InvalidRequest where the key that asks would lose `admin`: it could not undo that."""
        call, key_id = request[CALL], request.match_info["key_id"]
        body: Json = call.body
        call.body = None
        if key_id == call.stats.key_id and "admin" not in body.get("scopes", ("admin",)):
            text = "this is the key you are using; take `admin` from it with another one, or by `gateway keys edit`"
            raise InvalidRequest(text, param="scopes")
        record = await _in_thread(self._registry.edit, key_id, _properties(body))
        return JsonReply({"record": shown(record)})

    async def rotate(self, request: web.Request) -> web.StreamResponse:
        """As `create`: a key with the rights of another one, which stays valid. Raises NotFound."""
        key, record = await _in_thread(self._registry.rotate, request.match_info["key_id"])
        return JsonReply({"key": key, "record": shown(record)})

    async def revoke(self, request: web.Request) -> web.StreamResponse:
        """`{revoked: id}`. Raises NotFound, and InvalidRequest for the key that asks: it could not undo that."""
        key_id = request.match_info["key_id"]
        if key_id == request[CALL].stats.key_id:
            raise InvalidRequest(
                "this is the key you are using; revoke it with another one, or by `gateway keys revoke`"
            )
        record = await _in_thread(self._registry.revoke, key_id)
        return JsonReply({"revoked": record.id})


def _properties(body: Json) -> Json:
    """The fields of a body as `KeyRequest` and `KeyRegistry.edit` name them."""
    fields = dict(body)
    if "expires_days" in fields:
        days = fields.pop("expires_days")
        fields["expires_s"] = None if days is None else days * 86_400
    return fields


async def _in_thread(work: Callable[..., T], *arguments: object) -> T:
    """The result of some work on the keys. Raises StateUnavailable with the reason where their files cannot be used;
    then nothing has changed."""
    try:
        return await asyncio.to_thread(work, *arguments)
    except OSError as error:
        file = Path(error.filename or "the key file")
        raise StateUnavailable(f"no key was changed: {file_problem(error, file, file.name)}") from None


def _range_of(request: web.Request, ranges: Collection[str], default: str) -> str:
    if (name := request.query.get("range", default)) not in ranges:
        raise InvalidRequest(f"range must be one of {', '.join(ranges)}", param="range")
    return name


MAX_PREVIEW_BYTES = 65_536
"""Largest body of a preview. Its scan takes 20 ms at most."""

_DEFAULT_DAYS = 30
_MAX_ROWS = 10_000
"""A year of thirty keys."""


Rows = Callable[[], Awaitable[list[Json]]]


class AdminHandler:
    """`upstreams`: see `Sampler.upstreams`."""

    def __init__(self, history: History, usage: UsageReader, config: Config, tools: WebTools, upstreams: Rows) -> None:
        self._history, self._tools, self._upstreams = history, tools, upstreams
        self._usage = usage
        self._config = config
        self._currency = config.prices[0].currency if config.prices else ""
        self.check = by_schema(schemas.load("sanitize_preview"))

    async def usage(self, request: web.Request) -> web.StreamResponse:
        """`{since, by, currency, machines, rows: [{day?, key?, name?, model?, tool?, user?, session?, requests,
        input_tokens, cached_tokens, output_tokens, tool_calls, spend}]}` from the day `since` on, summed by the groups
        of `by`; `name` is that of the key, until it is erased, `user` and `session` are hashes. `machines` is `all`, or
        `this`: without Redis, while it is away, and where the query says `machines=this`.

        Raises InvalidRequest, StateUnavailable.
        """
        since = request.query.get("since") or time.strftime(
            "%Y-%m-%d", time.gmtime(time.time() - _DEFAULT_DAYS * 86_400)
        )
        by = [name for name in request.query.get("by", "key").split(",") if name]
        if not is_day(since):
            raise InvalidRequest("since must be a day such as 2026-11-01", param="since")
        if not set(by).issubset(GROUPS):
            raise InvalidRequest(f"by must be of {', '.join(GROUPS)}", param="by")
        if problem := together(by):
            raise InvalidRequest(f"by: {problem}", param="by")
        rows, of_all = await self._rows(since, by, only_here=request.query.get("machines") == "this")
        rows = named(rows[-_MAX_ROWS:], request[CALL].server.keys.names())
        return JsonReply(
            {
                "since": since,
                "by": by,
                "currency": self._currency,
                "machines": "all" if of_all else "this",
                "rows": rows,
            }
        )

    async def _rows(self, since: str, by: Sequence[str], *, only_here: bool) -> tuple[list[Json], bool]:
        """As `UsageReader.read`; while Redis is away it reads this machine's usage. Raises StateUnavailable."""
        try:
            try:
                return await self._usage.read(since, by, only_here=only_here)
            except StateDown:
                return await self._usage.read(since, by, only_here=True)
        except sqlite3.Error:
            raise StateUnavailable("the usage of keys cannot be read; see the notes of /readyz") from None

    async def requests(self, request: web.Request) -> web.StreamResponse:
        """`{requests: [record]}`, the newest first; see `History.last`. `name` is that of the record's `key`. With
        `range`, `endpoint` and `code` those behind a count of `errors`. Raises InvalidRequest."""
        asked = request.query
        request[CALL].server.recorder.flush()
        name = _range_of(request, FAULT_RANGES, "") if "range" in asked else ""
        rows = await self._history.last(name, asked.get("endpoint", ""), asked.get("code", ""))
        return JsonReply({"requests": named(rows, request[CALL].server.keys.names())})

    async def errors(self, request: web.Request) -> web.StreamResponse:
        """`{range, rows}`; see `History.faults`. `range` is one of FAULT_RANGES. Raises InvalidRequest."""
        name = _range_of(request, FAULT_RANGES, "1h")
        request[CALL].server.recorder.flush()
        return JsonReply({"range": name, "rows": await self._history.faults(name)})

    async def history(self, request: web.Request) -> web.StreamResponse:
        """`{range, step_s, points}`; see `History.read`. `range` is one of RANGES. Raises InvalidRequest."""
        name = _range_of(request, RANGES, "5m")
        request[CALL].server.recorder.flush()
        return JsonReply({"range": name, **await self._history.read(name)})

    async def status(self, request: web.Request) -> web.StreamResponse:
        """The data of the web tool `websearch-search_status`."""
        call = request[CALL]
        return JsonReply(await self._tools.status(WebCall(call.caller.key_id, call.request_id)))

    async def upstreams(self, request: web.Request) -> web.StreamResponse:
        """`{upstreams: [row]}`, of all workers; see `Sampler.upstreams`."""
        return JsonReply({"upstreams": await self._upstreams()})

    async def configuration(self, request: web.Request) -> web.StreamResponse:
        """`{path, text, guardrail_off}`: the configuration in force as `gateway print-config` writes it, without
        secrets; `path` is empty in the embedded profile; `guardrail_off` as in `sanitize`."""
        config = self._config
        shown = {"path": str(config.file or ""), "text": config_text(config), "guardrail_off": config.guardrail_off}
        return JsonReply(shown)

    async def sanitize(self, request: web.Request) -> web.StreamResponse:
        """What the detectors find in a text and what becomes of it; see `sanitize.report.preview`. `guardrail_off`:
        what a model would find beside them, empty where one is asked. Nothing is kept, and no model is asked here."""
        call = request[CALL]
        body: Json = call.body
        call.body = None
        shown = await in_thread(partial(preview, body["text"], self._config.sanitize, body.get("profile")))
        return JsonReply({**shown, "guardrail_off": self._config.guardrail_off})
