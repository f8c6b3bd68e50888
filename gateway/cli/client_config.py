"""`gateway client-config`: prints the configuration of a client for this installation, and tries it with `--check`.

The texts are in `client_texts/NAME.txt`; the first line of each says with which version it was run. They name the
file or the variable of the key, never the key. Their forms were read on 2026-11-29: opencode.ai/docs (V2) and /v1/docs,
code.claude.com/docs (env-vars, mcp), developers.openai.com/codex/mcp, docs.cline.bot (mcp), code.visualstudio.com
(docs/agent-customization/language-models, of 2026-07-29), docs.openwebui.com/features/mcp; Cursor's as others quote it.

`--check` is a short talk with a running gateway, over the interfaces of a client. Every request has a time limit; no
answer's text is shown but a gateway's own errors.
"""

import argparse
import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import orjson

from gateway.access.private_files import dev_key_path
from gateway.cli.options import (
    BAD,
    GOOD,
    Paint,
    Parsers,
    add_json_option,
    add_state_options,
    for_terminal,
    print_json_lines,
    say,
    tell,
)
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.settings import Config, Server
from gateway.domain import TEXT_MODEL, Json
from gateway.embedded.llm_server import CONTEXT_TOKENS

_TIMEOUT_S = 60
"""Time limit of each request."""
_MAX_BYTES = 1 << 20
"""An answer is read no further."""
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


KEY_VARIABLE = "GATEWAY_KEY"
"""The variable that the printed configurations read."""

CLIENTS: dict[str, tuple[str, ...]] = {
    "claude-code": ("mcp", "messages"),
    "cline": ("mcp", "chat"),
    "codex": ("mcp", "responses"),
    "curl": ("mcp", "responses"),
    "cursor": ("mcp",),
    "mcp-remote": ("mcp",),
    "open-webui": ("mcp", "chat"),
    "openai-sdk": ("responses",),
    "opencode": ("mcp", "chat"),
    "opencode2": ("mcp", "chat"),
    "qwen": ("mcp", "chat"),
    "vscode": ("mcp", "responses"),
}
"""Every client, and the interfaces that its configuration uses: what `--check` tries."""

_OUTPUT_PART = 4
"""Clients that ask for an output limit get the context length divided by this number. With 8, long edits are cut; with
2, the client shortens its history earlier."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What the texts are filled with. `context` is in tokens, 0 = unknown; `key_file` None = the key is in
    KEY_VARIABLE."""

    url: str
    model: str
    context: int
    key_file: Path | None


def add_commands(parsers: Parsers) -> None:
    """Add `client-config`."""
    parser = parsers.add_parser("client-config")
    parser.add_argument("name", metavar="NAME", choices=sorted(CLIENTS), help=", ".join(sorted(CLIENTS)))
    parser.add_argument("--check", action="store_true", help="try it: server, key, models, tools, one short answer")
    parser.add_argument("--url", help="the gateway's address as the client sees it; default: the configuration's")
    parser.add_argument("--model", help="default: the first text model of the configuration")
    parser.add_argument(
        "--key-file", type=Path, metavar="FILE",
        help=f"where the key is; default: ${KEY_VARIABLE}, else STATE_DIR/dev-key",
    )  # fmt: skip
    add_json_option(parser)
    add_state_options(parser)
    parser.set_defaults(command=_client_config)


def _client_config(arguments: argparse.Namespace, environment: Environment) -> int:
    config = load_config(arguments.config, arguments.state_dir, environment, needs_secrets=False)
    model, context = _model(config, arguments.model)
    key_file = _key_file(config, arguments.key_file, environment)
    place = ClientSettings((arguments.url or own_url(config.server)).rstrip("/"), model, context, key_file)
    if key_file == dev_key_path(config.state_dir).absolute():
        advice = "for a client: gateway keys create --name NAME --scope SCOPE > FILE, and here --key-file FILE"
        say(f"gateway: {key_file} holds the first key, which may do everything; {advice}\n", sys.stderr)
    if not arguments.check:
        text = client_text(arguments.name, place)
        row = {"client": arguments.name, "url": place.url, "model": place.model, "text": text}
        return tell(row, text.removesuffix("\n"), sys.stdout, as_json=arguments.json)
    key = key_file.read_text().strip() if key_file else environment.variables.get(KEY_VARIABLE, "")
    ops = f"http://{config.ops.host}:{config.ops.port}" if config.ops.port and arguments.url is None else ""
    plan = CheckPlan(place.url, ops, key, describe_key(place), model, CLIENTS[arguments.name])
    results = asyncio.run(check(plan))
    if arguments.json:
        print_json_lines({"step": step, "ok": not problem, "problem": problem} for step, problem in results)
    else:
        paint = Paint(sys.stdout, environment)
        for step, problem in results:
            told = for_terminal(f"{step}: {problem}" if problem else step)
            sys.stdout.write(f"{paint(BAD, 'wrong')}  {told}\n" if problem else f"{paint(GOOD, 'ok')}     {told}\n")
    return int(any(problem for _, problem in results))


def own_url(server: Server) -> str:
    """The address under which this machine reaches the gateway; one that listens on all addresses, on loopback."""
    loopback = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(server.host)  # noqa: S104 - compared, not listened on
    return replace(server, host=loopback).url if loopback else server.url


def client_text(name: str, place: ClientSettings) -> str:
    """The configuration of the client. Lines that would tell an unknown context length are left out."""
    values = {
        "@URL@": place.url,
        "@MCP@": f"{place.url}/tools/websearch/mcp",
        "@MODEL@": place.model,
        "@CONTEXT@": str(place.context or ""),
        "@OUTPUT@": str(place.context // _OUTPUT_PART or ""),
        "@EXPORT@": _export_line(place),
        "@KEY_PLACE@": describe_key(place),
    }
    text = (resources.files("gateway.cli") / "client_texts" / f"{name}.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not any(mark in line and not values[mark] for mark in values)]
    filled = "\n".join(lines)
    for mark, value in values.items():
        filled = filled.replace(mark, value)
    return filled + "\n"


def describe_key(place: ClientSettings) -> str:
    """A phrase that names the file or the variable which holds the key."""
    return f"the key is in the file {place.key_file}" if place.key_file else f"the key is in ${KEY_VARIABLE}"


def _export_line(place: ClientSettings) -> str:
    """The shell line that sets the variable from the file, or says that it must be set."""
    if place.key_file is None:
        return f'export {KEY_VARIABLE}="…"   # a key of `gateway keys create`'
    return f'export {KEY_VARIABLE}="$(cat {shlex.quote(str(place.key_file))})"'


def _key_file(config: Config, wished: Path | None, environment: Environment) -> Path | None:
    """The file that was named, else the first key's if it is there and no variable has a key. Raises
    FileNotFoundError."""
    if wished is not None:
        if not wished.is_file():
            raise FileNotFoundError(2, "no such file; give the file of a key with --key-file", str(wished))
        return wished.absolute()
    first = dev_key_path(config.state_dir)
    is_first = not environment.variables.get(KEY_VARIABLE) and os.access(first, os.R_OK)
    return first.absolute() if is_first else None


def _model(config: Config, wished: str | None) -> tuple[str, int]:
    """The model's name, and its context length if that is known."""
    texts = [model for model in config.models if model.kind == "text"]
    name = wished or config.text_model or TEXT_MODEL
    found = next((model for model in texts if name in (model.name, *model.aliases)), None)
    if found is not None and (found.context_length or found.upstreams):
        return name, found.context_length
    return name, CONTEXT_TOKENS if (found.name if found else name) == TEXT_MODEL else 0
