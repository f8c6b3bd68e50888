"""Innermost middleware: nothing sensitive goes to a handler or comes back from one unseen.

The request's decoded body is masked before the handler reads it; a whole answer's data, or a stream's events, before
bytes are made of them. The endpoint's dialect says where the text is and how to refuse; knows no interface itself.
"""

from contextlib import aclosing

from aiohttp import web
from aiohttp.typedefs import Handler

from gateway.model import Account, EventStream
from gateway.sanitize.pipeline import Sanitizer
from gateway.web.endpoints import ENDPOINT
from gateway.web.keys import ACCOUNT, BODY
from gateway.web.replies import EventReply, JsonReply
from gateway.wire.dialect import Dialect

SANITIZER: web.AppKey[Sanitizer] = web.AppKey("sanitizer", Sanitizer)


@web.middleware
async def sanitize(request: web.Request, handler: Handler) -> web.StreamResponse:
    sanitizer = request.app[SANITIZER]
    endpoint = request[ENDPOINT]
    if endpoint.name not in sanitizer.routes:
        return await handler(request)
    dialect, account = endpoint.dialect, request[ACCOUNT]
    asked: list[dict[str, int]] = []
    if sanitizer.requests and BODY in request:
        asked = await _clean_request(sanitizer, dialect, request[BODY], account)
    reply = await handler(request)
    if isinstance(reply, JsonReply):
        await _clean_answer(sanitizer, dialect, reply.data, account, asked)
    elif isinstance(reply, EventReply) and reply.whole_answers:
        reply.events = _clean_answers(sanitizer, dialect, reply.events, account, asked)
    elif isinstance(reply, EventReply) and sanitizer.responses:
        mask = sanitizer.stream(dialect.event_slots, lambda entity: _count(account, {entity: 1}))
        reply.events = mask.run(reply.events, reply.refusal_events or dialect.refused_events)
    return reply


async def _clean_request(
    sanitizer: Sanitizer, dialect: Dialect, body: object, account: Account
) -> list[dict[str, int]]:
    """What was found, by unit of the request."""
    found = []
    for unit in dialect.request_units(body):
        verdict = await sanitizer.clean(unit, "requests")
        _count(account, verdict.counts)
        found.append(verdict.counts)
        if verdict.refusal is not None:
            dialect.refuse_request(body, unit, verdict.refusal)
    return found


async def _clean_answers(
    sanitizer: Sanitizer, dialect: Dialect, events: EventStream, account: Account, asked: list[dict[str, int]]
) -> EventStream:
    """A stream whose events are whole answers: each is treated as one."""
    async with aclosing(events):
        async for batch in events:
            for event in batch:
                if event.data is not None:
                    await _clean_answer(sanitizer, dialect, event.data, account, asked)
            yield batch


async def _clean_answer(
    sanitizer: Sanitizer, dialect: Dialect, data: object, account: Account, asked: list[dict[str, int]]
) -> None:
    """What was found in the only unit of a request is told with the only unit of its answer."""
    units = list(dialect.reply_units(data))
    for unit in units:
        counts: dict[str, int] = {}
        if sanitizer.responses:
            verdict = await sanitizer.clean(unit, "responses")
            counts = verdict.counts
            _count(account, counts)
            if verdict.refusal is not None:
                dialect.refuse_reply(data, unit, verdict.refusal)
        if len(asked) == len(units) == 1 and asked[0]:
            counts = {entity: counts.get(entity, 0) + asked[0].get(entity, 0) for entity in (*asked[0], *counts)}
        if counts:
            dialect.note_findings(unit, counts)


def _count(account: Account, counts: dict[str, int]) -> None:
    for entity, number in counts.items():
        account.findings[entity] = account.findings.get(entity, 0) + number
