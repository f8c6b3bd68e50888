"""A scripted upstream on a real socket: says exactly the bytes a test wants, cuts where it wants, and sees who leaves.

HTTP is written by hand, so that every fault can be made: resets, broken chunks, silence, answers that are no HTTP.
A script is `async def script(exchange)`; scripts are used in order, the last one for all further requests.
"""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

DONE = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it came. `body` is its decoded JSON."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Exchange:
    """One request being answered."""

    def __init__(self, seen: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.seen = seen
        self._reader = reader
        self._writer = writer
        self.keep_alive = False
        self.sent_bytes = 0

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        self.sent_bytes += len(data)
        await self._writer.drain()

    async def head(self, status: int = 200, kind: str = "application/json", **headers: str) -> None:
        """Status line and headers; names take `-` for `_`."""
        lines = [f"HTTP/1.1 {status} Scripted", f"Content-Type: {kind}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def stream_head(self, kind: str = "text/event-stream") -> None:
        await self.head(200, kind, Transfer_Encoding="chunked")

    async def piece(self, data: bytes) -> None:
        """One piece of a chunked body, in a network write of its own."""
        await self.raw(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def finish(self) -> None:
        await self.raw(b"0\r\n\r\n")
        self.keep_alive = True

    def reset(self) -> None:
        """RST instead of FIN."""
        sock: socket.socket = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def gone(self, timeout_s: float = 10) -> None:
        """Returns when the gateway has let this connection go. Raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            while await self._reader.read(65536):
                pass


Script = Callable[[Exchange], Awaitable[None]]


class Upstream:
    """`seen` holds every request; `released` is set when a script that waited has seen its client leave."""

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[Seen] = []
        self.released = asyncio.Event()
        self.arrived = asyncio.Event()
        self.connections = 0
        self._scripts: list[Script] = []

    def will(self, *scripts: Script) -> None:
        self._scripts = list(scripts)

    @property
    def last(self) -> Seen:
        return self.seen[-1]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:]) if name}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        seen = Seen(method, path, headers, json.loads(raw) if raw else None)
        self.seen.append(seen)
        self.arrived.set()
        script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
        exchange = Exchange(seen, reader, writer)
        await script(exchange)
        return exchange.keep_alive


@asynccontextmanager
async def scripted_upstream(tls: ssl.SSLContext | None = None) -> AsyncIterator[Upstream]:
    upstream = Upstream()
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await upstream.serve(reader, writer)
        finally:
            tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=64 * 1024, backlog=1024, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    upstream.url = f"https://localhost:{port}/v1" if tls else f"http://127.0.0.1:{port}/v1"
    try:
        yield upstream
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=5)


# --- scripts --------------------------------------------------------------------------------------------------------


def answer(data: Any = None, *, status: int = 200, kind: str = "application/json", **headers: str) -> Script:
    """A whole answer: JSON of `data`, or the bytes as they are."""

    async def script(exchange: Exchange) -> None:
        body = data if isinstance(data, bytes) else json.dumps(data if data is not None else completion()).encode()
        await exchange.head(status, kind, Content_Length=str(len(body)), **headers)
        await exchange.raw(body)
        exchange.keep_alive = True

    return script


def stream(*pieces: bytes, kind: str = "text/event-stream", end: bool = True) -> Script:
    """The pieces, each a network write of its own; `end=False` cuts the connection after them."""

    async def script(exchange: Exchange) -> None:
        await exchange.stream_head(kind)
        for piece in pieces:
            await exchange.piece(piece)
            await asyncio.sleep(0)
        if end:
            await exchange.finish()

    return script


def reset(*, after: bytes = b"") -> Script:
    async def script(exchange: Exchange) -> None:
        if after:
            await exchange.raw(after)
            await asyncio.sleep(0.05)  # let the bytes be read before the reset discards them
        exchange.reset()

    return script


def silent(upstream: Upstream, *pieces: bytes, head: bool = False) -> Script:
    """Says `pieces` (after headers, if any), then nothing until the gateway leaves; then sets `released`."""

    async def script(exchange: Exchange) -> None:
        if head or pieces:
            await exchange.stream_head()
        for piece in pieces:
            await exchange.piece(piece)
        try:
            await exchange.gone(30)
        finally:
            upstream.released.set()

    return script


class Held:
    """A streamed answer that says `begin`, waits until `go_on` is set, and says the rest."""

    def __init__(self) -> None:
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def __call__(self, exchange: Exchange) -> None:
        pieces = text_stream(["begin ", "end"])
        await exchange.stream_head()
        for piece in pieces[:2]:
            await exchange.piece(piece)
        self.begun.set()
        await self.go_on.wait()
        for piece in pieces[2:]:
            await exchange.piece(piece)
        await exchange.finish()


class Gate:
    """Answers by a script, but only once `go_on` is set. `waiting`: how many have come."""

    def __init__(self, script: Script) -> None:
        self._script, self.waiting, self.go_on = script, 0, asyncio.Event()

    async def __call__(self, exchange: Exchange) -> None:
        self.waiting += 1
        await self.go_on.wait()
        await self._script(exchange)


def raw(data: bytes) -> Script:
    """These bytes and the end of the connection."""

    async def script(exchange: Exchange) -> None:
        await exchange.raw(data)

    return script


# --- what upstreams say ---------------------------------------------------------------------------------------------


def completion(text: str | None = "Hello there", finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    return {
        "id": "chatcmpl-up1", "object": "chat.completion", "created": 1700000000, "model": "up-model",
        "choices": [choice], "usage": dict(USAGE),
    }  # fmt: skip


def called(name: str, arguments: str, call_id: str = "call_1") -> dict[str, Any]:
    """A call of a tool, as a message has it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def call_chunks(call: Mapping[str, Any], size: int = 1000, index: int = 0) -> list[bytes]:
    """The chunks of a call, its arguments in pieces of so many characters."""
    function = call["function"]
    head = {"index": index, **call, "function": {**function, "arguments": ""}}
    pieces = ({"index": index, "function": {"arguments": each}} for each in _cut(function["arguments"], size))
    return [chunk({"tool_calls": [each]}) for each in (head, *pieces)]


def call_stream(call: Mapping[str, Any], size: int = 1000) -> list[bytes]:
    """A stream of one call and nothing else."""
    return [*call_chunks(call, size), chunk({}, "tool_calls"), usage_chunk(), DONE]


def chunk(delta: dict[str, Any] | None, finish: str | None = None, index: int = 0, **more: Any) -> bytes:
    """One frame of a stream."""
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    data = {"id": "chatcmpl-up1", "object": "chat.completion.chunk", "created": 1700000000, "model": "up-model"}
    return frame({**data, "choices": [choice], **more})


def frame(data: Any) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def usage_chunk() -> bytes:
    data = {"id": "chatcmpl-up1", "object": "chat.completion.chunk", "created": 1700000000, "model": "up-model"}
    return frame({**data, "choices": [], "usage": dict(USAGE)})


def text_stream(texts: Iterable[str] = ("Hello", " there"), finish: str = "stop") -> list[bytes]:
    """A well-behaved stream, as pieces."""
    pieces = [chunk({"role": "assistant", "content": ""})]
    pieces += [chunk({"content": text}) for text in texts]
    return [*pieces, chunk({}, finish), usage_chunk(), DONE]


# --- what upstreams say in the words of responses and messages --------------------------------------------------------


def event(kind: str, **fields: Any) -> bytes:
    """One frame of a stream, with the name of its event."""
    return f"event: {kind}\n".encode() + frame({"type": kind, **fields})


def response(*output: Any, **more: Any) -> dict[str, Any]:
    """A whole response; a text among its items is a message that says it."""
    head = {"id": "resp_up", "object": "response", "created_at": 17, "status": "completed", "model": "up-model"}
    items = [response_message(each) if isinstance(each, str) else each for each in output]
    return {**head, "output": items, "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}, **more}


def response_message(*texts: str, annotations: Iterable[Any] = ()) -> dict[str, Any]:
    """The item of a message with a part for each text."""
    notes = list(annotations)
    parts = [{"type": "output_text", "text": text, "annotations": notes, "logprobs": []} for text in texts]
    return {"type": "message", "id": "msg_up", "status": "completed", "role": "assistant", "content": parts}


def response_stream(whole: dict[str, Any], size: int = 1000) -> list[bytes]:
    """The events of a whole response, its texts in pieces of so many characters."""
    begun = {**whole, "status": "in_progress", "output": []}
    events: list[tuple[str, Any]] = [(f"response.{name}", {"response": begun}) for name in ("created", "in_progress")]
    for index, item in enumerate(whole["output"]):
        empty: dict[str, Any] = {
            "message": {"status": "in_progress", "content": []},
            "function_call": {"arguments": ""},
        }
        added = {**item, **empty.get(item["type"], {})}
        events.append(("response.output_item.added", {"output_index": index, "item": added}))
        events += _inside(item, {"output_index": index, "item_id": item["id"]}, size)
        events.append(("response.output_item.done", {"output_index": index, "item": item}))
    events.append(("response.completed", {"response": whole}))
    return [event(kind, sequence_number=number, **fields) for number, (kind, fields) in enumerate(events)]


def _inside(item: Any, at: dict[str, Any], size: int) -> Iterator[tuple[str, Any]]:
    if item["type"] == "reasoning":
        thought = item["summary"][0]["text"]
        yield "response.reasoning_summary_text.delta", {**at, "summary_index": 0, "delta": thought}
    elif item["type"] == "function_call":
        yield "response.function_call_arguments.delta", {**at, "delta": item["arguments"]}
    for number, part in enumerate(item.get("content", ())):
        place = {**at, "content_index": number}
        yield "response.content_part.added", {**place, "part": {**part, "text": "", "annotations": []}}
        for piece in _cut(part["text"], size):
            yield "response.output_text.delta", {**place, "delta": piece}
        for n, note in enumerate(part["annotations"]):
            yield "response.output_text.annotation.added", {**place, "annotation_index": n, "annotation": note}
        yield "response.output_text.done", {**place, "text": part["text"]}
        yield "response.content_part.done", {**place, "part": part}


def message(*content: Any, stop: str = "end_turn", **more: Any) -> dict[str, Any]:
    """A whole message in Anthropic's form; a text among its blocks is a block of text."""
    blocks = [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]
    head = {"id": "msg_up", "type": "message", "role": "assistant", "model": "up-model", "content": blocks}
    usage = {"input_tokens": 3, "output_tokens": 2}
    return {**head, "stop_reason": stop, "stop_sequence": None, "usage": usage, **more}


_DELTAS = {"text": "text_delta", "thinking": "thinking_delta", "input": "input_json_delta"}


def message_stream(whole: dict[str, Any], size: int = 1000) -> list[bytes]:
    """The events of a whole message, its texts and arguments in pieces of so many characters."""
    usage = {**whole["usage"], "output_tokens": 1}
    frames = [event("message_start", message={**whole, "content": [], "stop_reason": None, "usage": usage})]
    for index, block in enumerate(whole["content"]):
        member = "input" if block["type"] == "tool_use" else block["type"]
        said = json.dumps(block["input"]) if member == "input" else block[member]
        empty: dict[str, Any] = {member: {} if member == "input" else ""}
        empty |= {"signature": ""} if "signature" in block else {}
        frames.append(event("content_block_start", index=index, content_block={**block, **empty}))
        name = "partial_json" if member == "input" else member
        deltas = [{"type": _DELTAS[member], name: piece} for piece in _cut(said, size)]
        if block.get("signature"):
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        frames += [event("content_block_delta", index=index, delta=delta) for delta in deltas]
        frames.append(event("content_block_stop", index=index))
    stop = {name: whole[name] for name in ("stop_reason", "stop_sequence")}
    counted = {"output_tokens": whole["usage"]["output_tokens"]}
    return [*frames, event("message_delta", delta=stop, usage=counted), event("message_stop")]


def _cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]
