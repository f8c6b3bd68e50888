"""Commands that ask a running gateway. They find it and its key by options, then variables, then configuration and
state directory.

| what    | first       | then           | else                                                        |
|---------|-------------|----------------|-------------------------------------------------------------|
| address | `--url`     | `$GATEWAY_URL` | that of the configuration, by default http://127.0.0.1:8080 |
| key     | `--key`     | `$GATEWAY_KEY` | the file `dev-key` of the state directory                   |

`gateway call`: calls one web tool of a running gateway and prints its result for a terminal.

An MCP client of one request (JSON-RPC 2.0 over HTTP, revision 2025-06-18, read 2026-11-21). Asks for progress, and
shows it, when standard error is a terminal.

`gateway chat`: asks a running gateway's model and prints its answer as it comes, with the sources it cites.

A client of OpenAI's chat route (API reference, Chat, streaming, read 2026-11-22).
"""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TextIO

import aiohttp
import orjson

from gateway.access.private_files import dev_key_path
from gateway.cli.client_config import KEY_VARIABLE, own_url
from gateway.cli.options import (
    BAD,
    DOUBTFUL,
    LINK,
    STRONG,
    Paint,
    Parsers,
    add_state_options,
    count,
    for_terminal,
    one_line,
    say,
)
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.domain import TEXT_MODEL, Json
from gateway.errors import InvalidRequest, UpstreamError
from gateway.wire.untrusted_json import table_in, tables_in

URL_VARIABLE = "GATEWAY_URL"
NO_ANSWER = "start `gateway serve`, or give its address with --url"
"""What to do where a gateway cannot be reached."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running gateway: `url` without a slash at its end, and a key for it."""

    url: str
    key: str = field(repr=False)


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """Add `--url`, `--key`, `--config` and `--state-dir`."""
    parser.add_argument(
        "--url", help=f"address of the gateway; default: ${URL_VARIABLE}, else that of the configuration"
    )
    parser.add_argument("--key", help=f"default: ${KEY_VARIABLE}, else the contents of STATE_DIR/dev-key")
    add_state_options(parser)


def connection(arguments: argparse.Namespace, environment: Environment) -> Gateway:
    """The gateway that the arguments, the variables and the configuration name.

    Raises InvalidRequest where there is no key, ConfigError for a configuration that is wrong.
    """
    url = arguments.url or environment.variables.get(URL_VARIABLE)
    key = arguments.key or environment.variables.get(KEY_VARIABLE)
    state_dir = arguments.state_dir or environment.state_dir
    if not url or (not key and arguments.config is not None):
        config = load_config(arguments.config, arguments.state_dir, environment, needs_secrets=False)
        url, state_dir = url or own_url(config.server), config.state_dir
    if not key:
        file = dev_key_path(state_dir)
        remedy = f"give --key, set {KEY_VARIABLE}, or"
        try:
            key = file.read_text().strip()
        except PermissionError:
            raise InvalidRequest(f"only its owner and root can read {file}; {remedy} sudo gateway …") from None
        except OSError:
            raise InvalidRequest(f"there is no key in {file}; {remedy} name its folder with --state-dir") from None
    return Gateway(with_scheme(url), key)


def with_scheme(url: str) -> str:
    """`127.0.0.1:8080/` -> `http://127.0.0.1:8080`."""
    return (url if "://" in url else f"http://{url}").rstrip("/")


_SILENCE_S = 300
"""Longest wait for the next piece of an answer."""
_MAX_LINE_BYTES = 1 << 26
"""Longest line of an event stream, which holds a whole result."""
_EXCERPT_CHARS = 300
"""Of each search result."""
_FOREIGN = "not that of a gateway; give its address with --url"


@asynccontextmanager
async def _posted(gateway: Gateway, path: str, body: Json, **headers: str) -> AsyncIterator[aiohttp.ClientResponse]:
    """The answer to a POST. Raises UpstreamError where the gateway cannot be reached or does not answer as one."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=_SILENCE_S)
    headers = {"Authorization": f"Bearer {gateway.key}", **headers}
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, read_bufsize=_MAX_LINE_BYTES) as session,
            session.post(gateway.url + path, json=body, headers=headers) as reply,
        ):
            yield reply
    except (aiohttp.ClientError, TimeoutError) as error:
        raise UpstreamError(f"no answer from {gateway.url} ({type(error).__name__}); {NO_ANSWER}") from None
    except (ValueError, LookupError, TypeError):  # not JSON, not of that form, or a line beyond _MAX_LINE_BYTES
        raise UpstreamError(f"the answer is {_FOREIGN}") from None


def arguments_from(pairs: list[str]) -> Json:
    """`key=value` pairs as tool arguments. A value that is JSON is decoded, any other is a string. Raises
    InvalidRequest."""
    arguments: Json = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InvalidRequest(f"'{pair}' is not an argument; write key=value")
        try:
            arguments[name] = orjson.loads(text)
        except orjson.JSONDecodeError:
            arguments[name] = text
    return arguments


async def call_tool(gateway: Gateway, tool: str, arguments: Json, watch: TextIO | None) -> Json:
    """What the tool answers: `{success, data}`. Raises UpstreamError, also for an error of the tool.

    `tool`: the name with or without `websearch-`; `status` is short for `search_status`. `watch`: where progress is
    shown; None asks for none.
    """
    short_name = "search_status" if tool == "status" else tool.replace("-", "_")
    name = tool if tool.startswith("websearch-") else f"websearch-{short_name}"
    params: Json = {"name": name, "arguments": arguments}
    if watch is not None:
        params["_meta"] = {"progressToken": 1}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    async with _posted(gateway, "/tools/websearch/mcp", body, **headers) as reply:
        message = await _result_message(reply, watch)
        if "error" in message:
            raise UpstreamError(str(table_in(message, "error").get("message", "refused")))
        result = message["result"]
        document: Json = orjson.loads(result["content"][0]["text"])
        if result.get("isError"):
            raise UpstreamError(str(document["data"]["error"]["message"]))
        return document


async def _result_message(reply: aiohttp.ClientResponse, watch: TextIO | None) -> Json:
    if reply.content_type != "text/event-stream":
        return _table(await reply.read())
    async for line in reply.content:
        if not line.startswith(b"data:"):
            continue
        message = _table(line[5:])
        if message.get("method") == "notifications/progress" and watch is not None:
            _show_progress(message["params"], watch)
        elif "id" in message:
            if watch is not None:
                watch.write("\r\x1b[K")
            return message
    raise UpstreamError("the answer ended before its result; try again")


def _table(raw: bytes) -> Json:
    """A JSON object. Raises ValueError for anything else."""
    value = orjson.loads(raw)
    if not isinstance(value, dict):
        raise ValueError
    return value


def _show_progress(params: Json, watch: TextIO) -> None:
    total = params.get("total")
    of_total = f" of {total:g}" if total else ""
    watch.write(f"\r\x1b[K{params['progress']:g}{of_total} {one_line(str(params.get('message', '')))[:100]}")
    watch.flush()


def readable(tool: str, data: Json, paint: Paint) -> str:
    """The tool's `data` (schemas/tools/TOOL.json, outputSchema) as text for a terminal."""
    format_data = _FORMATS.get(tool.removeprefix("websearch-"), _format_json)
    return format_data(data, paint)


def _format_search(data: Json, paint: Paint) -> str:
    entries = []
    for number, hit in enumerate(data["results"], 1):
        title, url, excerpt = hit["title"], hit["url"], for_terminal(hit["content"])
        head = f"{number}. {paint(STRONG, title)}  ({hit.get('score', 0):.2f})"
        entries.append(f"{head}\n   {paint(LINK, url)}\n   {' '.join(excerpt.split())[:_EXCERPT_CHARS]}")
    if not entries:
        return f"nothing found. {for_terminal(data.get('note', ''))}".strip()
    return "\n\n".join([*entries, *_note(data, paint)])


def _format_pages(data: Json, paint: Paint) -> str:
    parts = []
    for page in data["results"]:
        title, url, text = (page.get(name, "") for name in ("title", "url", "raw_content"))
        parts.append(f"── {paint(STRONG, title)} <{paint(LINK, url)}>\n\n{for_terminal(text)}")
    for page in data.get("failed_results", []):
        parts.append(f"{paint(BAD, 'failed:')} {for_terminal(page['url'])}: {for_terminal(page['error'])}")
    return "\n\n".join([*parts, *_note(data, paint)])


def _format_map(data: Json, paint: Paint) -> str:
    return "\n".join([*map(for_terminal, data["results"]), *_note(data, paint)])


def _note(data: Json, paint: Paint) -> list[str]:
    return [paint(DOUBTFUL, data["note"])] if data.get("note") else []


def _format_json(data: Json, paint: Paint) -> str:
    return for_terminal(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())


_FORMATS: dict[str, Callable[[Json, Paint], str]] = {
    "search": _format_search,
    "extract": _format_pages,
    "crawl": _format_pages,
    "map": _format_map,
}


def _run(arguments: argparse.Namespace, environment: Environment, tool: str, pairs: list[str]) -> int:
    """Call the tool and print its result, or with `--json` the whole answer. Raises UpstreamError, InvalidRequest."""
    watch, paint = sys.stderr if sys.stderr.isatty() else None, Paint(sys.stdout, environment)
    document = asyncio.run(call_tool(connection(arguments, environment), tool, arguments_from(pairs), watch))
    text = _format_json(document, paint) if arguments.json else readable(tool, document["data"], paint)
    sys.stdout.write(text + "\n")
    return 0


def add_commands(parsers: Parsers) -> None:
    """Add `call`, `search` and `chat`."""
    tool, search, chat = (parsers.add_parser(name) for name in ("call", "search", "chat"))
    tool.add_argument("tool", metavar="TOOL", help="search, extract, crawl, map or search_status")
    tool.add_argument("pairs", metavar="key=value", nargs="*", help="its arguments, before or after the options")
    search.add_argument("words", metavar="WORD", nargs="+", help="the query")
    search.add_argument("--max-results", type=count, default=5, metavar="N", help="default: %(default)s")
    chat.add_argument(
        "words", metavar="TEXT", nargs="*", help="the question; - is standard input, as is nothing at all"
    )
    chat.add_argument("--model", default=TEXT_MODEL, help="default: %(default)s")
    chat.add_argument("--system", default="", metavar="TEXT", help="the system message")
    chat.add_argument("--search", action="store_true", help="search the web first")
    chat.add_argument("--max-tokens", type=count, metavar="N", help="longest answer")
    for parser, command in ((tool, _call), (search, _search), (chat, _chat)):
        parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")
        add_connection_options(parser)
        parser.set_defaults(command=command)


def _call(arguments: argparse.Namespace, environment: Environment) -> int:
    return _run(arguments, environment, arguments.tool, arguments.pairs)


def _search(arguments: argparse.Namespace, environment: Environment) -> int:
    pairs = [f"query={' '.join(arguments.words)}", f"max_results={arguments.max_results}"]
    return _run(arguments, environment, "search", pairs)


def _chat(arguments: argparse.Namespace, environment: Environment) -> int:
    question = _question(arguments.words, sys.stdin)
    gateway = connection(arguments, environment)
    messages = [{"role": "user", "content": question}]
    if arguments.system:
        messages.insert(0, {"role": "system", "content": arguments.system})
    body: Json = {"model": arguments.model, "messages": messages}
    if arguments.max_tokens:
        body["max_tokens"] = arguments.max_tokens
    if arguments.search:
        body["web_search_options"] = {}
    if not arguments.json:
        body["stream"] = True
    asyncio.run(_ask(gateway, body, sys.stdout, Paint(sys.stdout, environment)))
    return 0


def _question(words: list[str], standard_input: TextIO) -> str:
    """The words, with standard input in the place of `-`. Raises InvalidRequest when there is no question."""
    parts = [standard_input.read() if word == "-" else word for word in words or ["-"]]
    question = " ".join(parts).strip()
    if not question:
        raise InvalidRequest('there is no question; write it behind the command: gateway chat "What is HTTP?"')
    return question


async def _ask(gateway: Gateway, body: Json, out: TextIO, paint: Paint) -> None:
    """Raises UpstreamError with the gateway's own words for a refusal, or saying that it cannot be reached."""
    async with _posted(gateway, "/v1/chat/completions", body) as reply:
        if reply.status >= 400:
            raise UpstreamError(str(_table(await reply.read())["error"]["message"]))
        if body.get("stream"):
            await _print_stream(reply, out, paint)
        else:
            out.write(_format_json(_table(await reply.read()), paint) + "\n")


async def _print_stream(reply: aiohttp.ClientResponse, out: TextIO, paint: Paint) -> None:
    sources: dict[str, str] = {}
    has_ended = False
    async for line in reply.content:
        if not line.startswith(b"data:"):
            continue
        text = line[5:].strip()
        if text == b"[DONE]":
            has_ended = True
            break
        event = _table(text)
        if error := table_in(event, "error"):
            out.write("\n")
            raise UpstreamError(str(error.get("message", "refused")))
        for choice in tables_in(event, "choices"):
            delta = table_in(choice, "delta")
            say(str(delta.get("content") or ""), out)
            out.flush()
            for note in tables_in(delta, "annotations"):
                cited = table_in(note, "url_citation")
                sources.setdefault(str(cited.get("url", "")), str(cited.get("title", "")))
    out.write("\n")
    for number, (url, title) in enumerate(sources.items(), 1):
        out.write(f"[{number}] {for_terminal(f'{title} ' if title else '')}{paint(LINK, url)}\n")
    if not has_ended:
        raise UpstreamError("the answer ended before it was whole; try again")
