"""`gateway call`: one web tool of a running gateway from the shell, told as a person reads it.

An MCP client of one request (JSON-RPC 2.0 over HTTP, revision 2025-06-18, read 2026-11-21). Knows nothing of how the
server works; asks for progress and shows it when somebody watches.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any, TextIO

import aiohttp
import orjson

from gateway.domain import Json

_TIMEOUT_S = 180
_MAX_LINE_BYTES = 1 << 26


class CallFailed(Exception):
    """The server could not be reached or refused; the text says what to do."""


def arguments_from(pairs: list[str]) -> Json:
    """`key=value` pairs as tool arguments: JSON where a value is JSON, else a string; the server coerces the rest."""
    arguments: Json = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise CallFailed(f"'{pair}' is not key=value")
        try:
            arguments[name] = orjson.loads(text)
        except orjson.JSONDecodeError:
            arguments[name] = text
    return arguments


async def call_tool(url: str, key: str, tool: str, arguments: Json, watch: TextIO | None) -> Json:
    """The tool's result object. Raises CallFailed."""
    word = "search_status" if tool == "status" else tool.replace("-", "_")
    name = tool if tool.startswith("websearch-") else f"websearch-{word}"
    params: Json = {"name": name, "arguments": arguments}
    if watch is not None:
        params["_meta"] = {"progressToken": 1}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Authorization": f"Bearer {key}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S, sock_connect=5)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, read_bufsize=_MAX_LINE_BYTES) as session,
            session.post(f"{url.rstrip('/')}/tools/websearch/mcp", json=body, headers=headers) as reply,
        ):
            return await _result(reply, watch)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise CallFailed(f"no answer from {url} ({type(error).__name__}); is `gateway serve` running?") from None


async def _result(reply: aiohttp.ClientResponse, watch: TextIO | None) -> Json:
    if reply.content_type != "text/event-stream":
        return _unwrapped(await reply.read())
    async for line in reply.content:
        if not line.startswith(b"data:"):
            continue
        message = orjson.loads(line[5:])
        if message.get("method") == "notifications/progress" and watch is not None:
            _show_progress(message["params"], watch)
        elif "id" in message:
            if watch is not None:
                watch.write("\r\x1b[K")
            return _unwrapped(line[5:])
    raise CallFailed("the answer ended before its result")


def _unwrapped(raw: bytes) -> Json:
    try:
        message = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise CallFailed("the answer is not JSON; is the URL a gateway's?") from None
    if "error" in message:
        raise CallFailed(str(message["error"].get("message", "refused")))
    result: Json = message["result"]
    return result


def _show_progress(params: Json, watch: TextIO) -> None:
    total = params.get("total")
    of = f" of {total:g}" if total else ""
    watch.write(f"\r\x1b[K{params['progress']:g}{of} {str(params.get('message', ''))[:100]}")
    watch.flush()


def readable(tool: str, data: Json) -> str:
    """The tool's `data` as text for a terminal."""
    show = _SHOWN.get(tool.removeprefix("websearch-"), _as_json)
    return show(data)


def _search(data: Json) -> str:
    entries = []
    for number, hit in enumerate(data["results"], 1):
        excerpt = " ".join(hit["content"].split())[:300]
        entries.append(f"{number}. {hit['title']}  ({hit.get('score', 0):.2f})\n   {hit['url']}\n   {excerpt}")
    return "\n\n".join(entries) or f"nothing found. {data.get('note', '')}".strip()


def _pages(data: Json) -> str:
    pages = [f"── {page.get('title', '')} <{page['url']}>\n\n{page['raw_content']}" for page in data["results"]]
    failed = [f"failed: {page['url']}: {page['error']}" for page in data.get("failed_results", [])]
    return "\n\n".join([*pages, *failed, *([data["note"]] if data.get("note") else [])])


def _map(data: Json) -> str:
    return "\n".join([*data["results"], *([data["note"]] if data.get("note") else [])])


def _as_json(data: Json) -> str:
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()


_SHOWN: dict[str, Callable[[Json], str]] = {"search": _search, "extract": _pages, "crawl": _pages, "map": _map}


def run(url: str, key: str, tool: str, pairs: list[str], *, raw: bool) -> int:
    """The whole command: 0 on success, 1 on a failed call or a tool error."""
    watch = sys.stderr if sys.stderr.isatty() else None
    try:
        result: Any = asyncio.run(call_tool(url, key, tool, arguments_from(pairs), watch))
    except CallFailed as error:
        sys.stderr.write(f"gateway call: {error}\n")
        return 1
    document = orjson.loads(result["content"][0]["text"])
    if result.get("isError"):
        sys.stderr.write(f"gateway call: {document['data']['error']['message']}\n")
        return 1
    sys.stdout.write((_as_json(document) if raw else readable(tool, document["data"])) + "\n")
    return 0
