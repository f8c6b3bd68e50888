"""Keys for the console, on the operations listener alone, for keys with the scope `admin`: listed, made, rotated and
revoked. A new key is shown once, in the answer that made it. Whoever holds an admin key can make keys of any scope.
"""

import asyncio
from collections.abc import Mapping

from aiohttp import web

from gateway import schemas
from gateway.access.keys import KeyRecord, KeyRegistry, KeyRequest, record_to_json
from gateway.domain import KEY_LIMITS, Json
from gateway.errors import InvalidRequest
from gateway.web.context import CONTEXT
from gateway.web.handlers.json_body import checked_body
from gateway.web.replies import JsonReply
from gateway.wire.json_body import JsonBody


class AdminKeysHandler:
    """The keys of `registry`, the one that `gateway keys` writes."""

    def __init__(self, registry: KeyRegistry) -> None:
        self._registry = registry
        self._checker = schemas.Checker(schemas.load("admin_key"))

    def check(self, body: JsonBody, headers: Mapping[str, str]) -> Json:
        """The body of a new key (schemas/admin_key.json). Raises InvalidRequest that names the wrong field."""
        return checked_body(body, self._checker)

    async def listing(self, request: web.Request) -> web.StreamResponse:
        """`{keys: [{id, name, scopes, created, expires?, limits…}], own}`, newest first; `own` is the caller's id."""
        records = await asyncio.to_thread(self._registry.read)
        shown = [_shown(record) for record in sorted(records, key=lambda record: -record.created)]
        return JsonReply({"keys": shown, "own": request[CONTEXT].stats.key_id})

    async def create(self, request: web.Request) -> web.StreamResponse:
        """`{key, record}`: the key's text, which is stored nowhere, and its record."""
        context = request[CONTEXT]
        body: Json = context.body
        context.body = None
        days = body.get("expires_days")
        wanted = KeyRequest(
            name=body["name"],
            scopes=tuple(body["scopes"]),
            expires_s=None if days is None else days * 86_400,
            **{name: body.get(name) for name in KEY_LIMITS},
        )
        key, record = await asyncio.to_thread(self._registry.create, wanted)
        return JsonReply({"key": key, "record": _shown(record)})

    async def rotate(self, request: web.Request) -> web.StreamResponse:
        """As `create`: a key with the rights of another one, which stays valid. Raises NotFound."""
        key, record = await asyncio.to_thread(self._registry.rotate, request.match_info["key_id"])
        return JsonReply({"key": key, "record": _shown(record)})

    async def revoke(self, request: web.Request) -> web.StreamResponse:
        """`{revoked: id}`. Raises NotFound, and InvalidRequest for the key that asks: it could not undo that."""
        key_id = request.match_info["key_id"]
        if key_id == request[CONTEXT].stats.key_id:
            raise InvalidRequest(
                "this is the key you are using; revoke it with another one, or by `gateway keys revoke`"
            )
        record = await asyncio.to_thread(self._registry.revoke, key_id)
        return JsonReply({"revoked": record.id})


def _shown(record: KeyRecord) -> Json:
    """A record without its digest."""
    return {name: value for name, value in record_to_json(record).items() if name != "sha256"}
