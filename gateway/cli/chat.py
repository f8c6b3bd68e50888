"""`gateway chat`: asks a running gateway's model and prints its answer as it comes, with the sources it cites.

A client of OpenAI's chat route (API reference, Chat, streaming, read 2026-11-22). Knows not how the server works.
"""

import argparse
import asyncio
import sys
from typing import TextIO

import aiohttp
import orjson

from gateway.cli.argument_types import Parsers, count
from gateway.cli.connection import NO_ANSWER, Connection, add_connection_options, connection
from gateway.cli.terminal import LINK, Paint, for_terminal
from gateway.config.environment import Environment
from gateway.domain import TEXT_MODEL, Json
from gateway.errors import InvalidRequest, UpstreamError
from gateway.wire.untrusted_json import table_in, tables_in

_SILENCE_S = 300
"""Longest wait for the next piece of an answer. Chosen: an embedded model may read a long prompt for minutes; at half,
such a prompt is given up; at double, a dead server is noticed late."""
_MAX_LINE_BYTES = 1 << 24
"""Longest line of a stream, which holds one piece of an answer."""
_FOREIGN = "not that of a gateway; give its address with --url"


def add_commands(parsers: Parsers) -> None:
    """Add `chat`."""
    parser = parsers.add_parser(
        "chat",
        help="ask a model of a running gateway",
    )
    parser.add_argument(
        "words", metavar="TEXT", nargs="*", help="the question; - is standard input, as is nothing at all"
    )
    parser.add_argument("--model", default=TEXT_MODEL, help="default: %(default)s")
    parser.add_argument("--system", default="", metavar="TEXT", help="the system message")
    parser.add_argument("--search", action="store_true", help="search the web first")
    parser.add_argument("--max-tokens", type=count, metavar="N", help="longest answer")
    parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    add_connection_options(parser)
    parser.set_defaults(command=_chat)


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


async def _ask(gateway: Connection, body: Json, out: TextIO, paint: Paint) -> None:
    """Raises UpstreamError with the gateway's own words for a refusal, or saying that it cannot be reached."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=_SILENCE_S)
    headers = {"Authorization": f"Bearer {gateway.key}"}
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, read_bufsize=_MAX_LINE_BYTES) as session,
            session.post(f"{gateway.url}/v1/chat/completions", json=body, headers=headers) as reply,
        ):
            if reply.status >= 400:
                raise UpstreamError(_refusal(await reply.read(), reply.status))
            if body.get("stream"):
                await _print_stream(reply, out, paint)
            else:
                out.write(orjson.dumps(orjson.loads(await reply.read()), option=orjson.OPT_INDENT_2).decode() + "\n")
    except (aiohttp.ClientError, TimeoutError) as error:
        raise UpstreamError(f"no answer from {gateway.url} ({type(error).__name__}); {NO_ANSWER}") from None
    except ValueError:  # what is not JSON, or a line beyond _MAX_LINE_BYTES
        raise UpstreamError(f"the answer is {_FOREIGN}") from None


def _refusal(raw: bytes, status: int) -> str:
    try:
        return str(orjson.loads(raw)["error"]["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return f"the answer, with status {status}, is {_FOREIGN}"


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
        event = orjson.loads(text)
        if error := table_in(event, "error"):
            out.write("\n")
            raise UpstreamError(str(error.get("message", "refused")))
        for choice in tables_in(event, "choices"):
            delta = table_in(choice, "delta")
            out.write(for_terminal(str(delta.get("content") or "")))
            out.flush()
            for note in tables_in(delta, "annotations"):
                cited = table_in(note, "url_citation")
                sources.setdefault(str(cited.get("url", "")), str(cited.get("title", "")))
    out.write("\n")
    for number, (url, title) in enumerate(sources.items(), 1):
        out.write(f"[{number}] {for_terminal(f'{title} ' if title else '')}{paint(LINK, for_terminal(url))}\n")
    if not has_ended:
        raise UpstreamError("the answer ended before it was whole; try again")
