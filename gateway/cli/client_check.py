"""The checks of `gateway client-config --check`: a short talk with a running gateway, over the interfaces of a client.

Knows no client and reads no file. Every request has a time limit; no answer's text is shown but a gateway's own errors.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import aiohttp
import orjson

from gateway.domain import Json

_TIMEOUT_S = 60
"""Time limit of each request. Chosen: a busy model needs seconds for a short answer, a model that must be loaded first
half a minute. At half, a model that is being loaded fails the check; at double, the user waits two minutes for a server
that does not answer."""
_MAX_BYTES = 1 << 20
"""An answer is read no further. Chosen: the longest, the list of tools, has 40 KB."""
_SCOPES = {"mcp": "web-search", "chat": "chat", "messages": "chat", "responses": "responses"}
_PATHS = {
    "mcp": "/tools/websearch/mcp",
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
}
_NAMES = {"mcp": "web tools", "chat": "a short chat", "messages": "a short message", "responses": "a short response"}


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """What to check. `ops_url` is empty where the operations listener is not reached; `key_place` names the file
    or variable that holds the key; `interfaces` are keys of `_PATHS`."""

    url: str
    ops_url: str
    key: str
    key_place: str
    model: str
    interfaces: tuple[str, ...]


async def check(plan: CheckPlan) -> list[tuple[str, str]]:
    """`(step, what is wrong and how to mend it)` for every step, the second empty where all is well. Ends at the first
    wrong step on which all later ones depend."""
    results = []
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S, sock_connect=5)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        async for step, problem, is_last in _steps(plan, session):
            results.append((step, problem))
            if problem and is_last:
                break
    return results


async def _steps(plan: CheckPlan, session: aiohttp.ClientSession) -> AsyncIterator[tuple[str, str, bool]]:
    """Every step, its problem, and whether the rest is pointless with it."""
    if plan.ops_url:
        yield "the server is ready", await _readiness(plan, session), False
    key_problem = "" if plan.key else f"{plan.key_place}, which is empty; make one with `gateway keys create`"
    yield f"a key ({plan.key_place})", key_problem, True
    yield f"the model {plan.model}", await _model_problem(plan, session), True
    for interface in plan.interfaces:
        yield _NAMES[interface], await _interface_problem(plan, session, interface), False


async def _readiness(plan: CheckPlan, session: aiohttp.ClientSession) -> str:
    status, _ = await _ask(session, "GET", f"{plan.ops_url}/readyz")
    if status == 0:
        return f"nothing answers on {plan.ops_url}; start `gateway serve`, or give its address with --url"
    return "" if status == 200 else f"{plan.ops_url}/readyz says {status}: it is still starting, or an engine failed"


async def _model_problem(plan: CheckPlan, session: aiohttp.ClientSession) -> str:
    status, answer = await _ask(session, "GET", f"{plan.url}/v1/models", plan.key)
    if status == 0:
        return f"nothing answers on {plan.url}; start `gateway serve`, or give its address with --url"
    if status == 401:
        return f"the gateway does not know this key ({plan.key_place}); make one with `gateway keys create`"
    if status != 200:
        return _words(status, answer)
    models = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(models, list):
        return f"{plan.url}/v1/models is not a gateway's answer; give the gateway's address with --url"
    status, _ = await _ask(session, "GET", f"{plan.url}/v1/models/{quote(plan.model, safe='')}", plan.key)
    if status == 200:
        return ""
    names = ", ".join(str(model.get("id")) for model in models if isinstance(model, dict))
    return f"the gateway has no such model; there are {names or 'none'}; choose one with --model"


async def _interface_problem(plan: CheckPlan, session: aiohttp.ClientSession, interface: str) -> str:
    status, answer = await _ask(session, "POST", plan.url + _PATHS[interface], plan.key, _body(plan.model, interface))
    if status == 200 and not (isinstance(answer, dict) and answer.get("error")):
        return ""
    if status == 403:
        scope = _SCOPES[interface]
        return f"the key lacks the scope {scope}; make one with `gateway keys create --name NAME --scope {scope}`"
    if status >= 500:
        return f"{_words(status, answer)}; see the gateway's log and `models.upstreams` in its configuration"
    return _words(status, answer)


def _body(model: str, interface: str) -> Json:
    if interface == "mcp":
        return {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    if interface == "responses":
        return {"model": model, "input": "Say hi.", "max_output_tokens": 16, "store": False}  # some refuse fewer
    return {"model": model, "messages": [{"role": "user", "content": "Say hi."}], "max_tokens": 1}


async def _ask(
    session: aiohttp.ClientSession, method: str, url: str, key: str = "", body: Json | None = None
) -> tuple[int, Any]:
    """Status and decoded answer; status 0 where nothing answers, None for what is not JSON."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with session.request(method, url, json=body, headers=headers) as reply:
            raw = await reply.content.read(_MAX_BYTES)
            status = reply.status
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return 0, None
    try:
        return status, orjson.loads(raw)
    except orjson.JSONDecodeError:
        return status, None


def _words(status: int, answer: Any) -> str:
    """The gateway's own words for an error."""
    error = answer.get("error") if isinstance(answer, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return f"{status}: {message}" if message else f"status {status}" if status else "no answer in time"
