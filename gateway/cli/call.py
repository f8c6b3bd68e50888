"""`gateway call`: calls one web tool of a running gateway and prints its result for a terminal.

An MCP client of one request (JSON-RPC 2.0 over HTTP, revision 2025-06-18, read 2026-11-21). Asks for progress, and
shows it, when standard error is a terminal. Knows nothing of how the server works.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any, TextIO

import aiohttp
import orjson

from gateway.cli.connection import NO_ANSWER, Connection
from gateway.cli.terminal import BAD, DOUBTFUL, LINK, STRONG, Paint, for_terminal
from gateway.domain import Json
from gateway.wire.untrusted_json import table_in

_TIMEOUT_S = 180
"""For a whole call. Chosen: a crawl with a progress token has 120 s in the server, its last pages and the transfer need
some more. At half, long crawls are given up while the server still works; at double, a dead server is noticed late."""
_MAX_LINE_BYTES = 1 << 26
"""Longest line of an event stream, which holds a whole result. Chosen: 64 MiB, many times `web.result_budget_chars`; a
longer line fails the call."""
_EXCERPT_CHARS = 300
"""Of each search result. Chosen: three lines of a terminal; at half a sentence is cut, at double ten results take two
screens."""
_FOREIGN = "the answer is not that of a gateway; give its address with --url"


class CallFailed(Exception):
    """The server could not be reached, refused the call, or did not answer as a gateway does."""


def arguments_from(pairs: list[str]) -> Json:
    """`key=value` pairs as tool arguments. A value that is JSON is decoded, any other is a string. Raises
    CallFailed."""
    arguments: Json = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise CallFailed(f"'{pair}' is not an argument; write key=value")
        try:
            arguments[name] = orjson.loads(text)
        except orjson.JSONDecodeError:
            arguments[name] = text
    return arguments


async def call_tool(gateway: Connection, tool: str, arguments: Json, watch: TextIO | None) -> Json:
    """The result of the tool: `{content: [{type, text}], isError, structuredContent?}`. Raises CallFailed.

    `tool`: the name with or without `websearch-`; `status` is short for `search_status`. `watch`: where progress is
    shown; None asks for none.
    """
    short_name = "search_status" if tool == "status" else tool.replace("-", "_")
    name = tool if tool.startswith("websearch-") else f"websearch-{short_name}"
    params: Json = {"name": name, "arguments": arguments}
    if watch is not None:
        params["_meta"] = {"progressToken": 1}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Authorization": f"Bearer {gateway.key}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S, sock_connect=5)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, read_bufsize=_MAX_LINE_BYTES) as session,
            session.post(f"{gateway.url}/tools/websearch/mcp", json=body, headers=headers) as reply,
        ):
            return await _read_result(reply, watch)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise CallFailed(f"no answer from {gateway.url} ({type(error).__name__}); {NO_ANSWER}") from None
    except ValueError:  # a line beyond _MAX_LINE_BYTES
        raise CallFailed(_FOREIGN) from None


async def _read_result(reply: aiohttp.ClientResponse, watch: TextIO | None) -> Json:
    if reply.content_type != "text/event-stream":
        return _result(_message(await reply.read()))
    async for line in reply.content:
        if not line.startswith(b"data:"):
            continue
        message = _message(line[5:])
        if message.get("method") == "notifications/progress" and watch is not None:
            _show_progress(message["params"], watch)
        elif "id" in message:
            if watch is not None:
                watch.write("\r\x1b[K")
            return _result(message)
    raise CallFailed("the answer ended before its result; try again")


def _message(raw: bytes) -> Json:
    try:
        message = orjson.loads(raw)
    except orjson.JSONDecodeError:
        message = None
    if not isinstance(message, dict):
        raise CallFailed(_FOREIGN)
    return message


def _result(message: Json) -> Json:
    if "error" in message:
        raise CallFailed(str(table_in(message, "error").get("message", "refused")))
    return table_in(message, "result")


def _show_progress(params: Json, watch: TextIO) -> None:
    total = params.get("total")
    of_total = f" of {total:g}" if total else ""
    watch.write(f"\r\x1b[K{params['progress']:g}{of_total} {str(params.get('message', ''))[:100]}")
    watch.flush()


def readable(tool: str, data: Json, paint: Paint) -> str:
    """The tool's `data` (schemas/tools/TOOL.json, outputSchema) as text for a terminal."""
    format_data = _FORMATS.get(tool.removeprefix("websearch-"), _format_json)
    return format_data(data, paint)


def _format_search(data: Json, paint: Paint) -> str:
    entries = []
    for number, hit in enumerate(data["results"], 1):
        title, url, excerpt = (for_terminal(hit[name]) for name in ("title", "url", "content"))
        head = f"{number}. {paint(STRONG, title)}  ({hit.get('score', 0):.2f})"
        entries.append(f"{head}\n   {paint(LINK, url)}\n   {' '.join(excerpt.split())[:_EXCERPT_CHARS]}")
    if not entries:
        return f"nothing found. {for_terminal(data.get('note', ''))}".strip()
    return "\n\n".join([*entries, *_note(data, paint)])


def _format_pages(data: Json, paint: Paint) -> str:
    parts = []
    for page in data["results"]:
        title, url, text = (for_terminal(page.get(name, "")) for name in ("title", "url", "raw_content"))
        parts.append(f"── {paint(STRONG, title)} <{paint(LINK, url)}>\n\n{text}")
    for page in data.get("failed_results", []):
        parts.append(f"{paint(BAD, 'failed:')} {for_terminal(page['url'])}: {for_terminal(page['error'])}")
    return "\n\n".join([*parts, *_note(data, paint)])


def _format_map(data: Json, paint: Paint) -> str:
    return "\n".join([*map(for_terminal, data["results"]), *_note(data, paint)])


def _note(data: Json, paint: Paint) -> list[str]:
    return [paint(DOUBTFUL, for_terminal(data["note"]))] if data.get("note") else []


def _format_json(data: Json, paint: Paint) -> str:
    return for_terminal(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())


_FORMATS: dict[str, Callable[[Json, Paint], str]] = {
    "search": _format_search,
    "extract": _format_pages,
    "crawl": _format_pages,
    "map": _format_map,
}


def run(gateway: Connection, tool: str, pairs: list[str], paint: Paint, *, raw: bool) -> int:
    """Call the tool and print its result; `raw` prints the JSON. The exit code: 0, or 1 for any failure. `paint` is for
    standard output."""
    watch = sys.stderr if sys.stderr.isatty() else None
    try:
        result: Any = asyncio.run(call_tool(gateway, tool, arguments_from(pairs), watch))
    except CallFailed as error:
        sys.stderr.write(f"gateway call: {error}\n")
        return 1
    try:
        document = orjson.loads(result["content"][0]["text"])
        data = document["data"]
    except (LookupError, TypeError, ValueError):
        sys.stderr.write(f"gateway call: {_FOREIGN}\n")
        return 1
    if result.get("isError"):
        sys.stderr.write(f"gateway call: {data['error']['message']}\n")
        return 1
    sys.stdout.write((_format_json(document, paint) if raw else readable(tool, data, paint)) + "\n")
    return 0
