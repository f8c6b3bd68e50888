"""A fast OpenAI-compatible upstream: fixed answers from a raw asyncio protocol, so that it is never what is measured.

`python -m bench.upstream PORT`. Paths are ignored; a body with `"stream": true` (or `"stream":true`) is answered by a
stream of 100 chunks in one burst, or, with `"paced":true` too, one a millisecond; anything else by a small completion,
and a GET by the list of models. With `"seed":1` it calls `web_search` first, and answers once the body has a tool's
output; with `"seed":2` a paced stream has ten chunks.
"""

import asyncio
import sys
from typing import cast

import orjson
import uvloop

CHUNKS = 100
"""Of a stream, that hold a word."""
TEXT = "It is a small answer. " * 20
"""What a whole answer says."""
USAGE = {"prompt_tokens": 20, "completion_tokens": 100, "total_tokens": 120}
_WORDS = (" the", " house", " stands", " near", " a", " river", " and", " looks", " south")
WORDS = [_WORDS[number % len(_WORDS)] for number in range(CHUNKS)]
"""What the chunks of a stream say, one each."""


def _completion() -> bytes:
    answer = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "upstream-model",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT},
                     "finish_reason": "stop"}],
        "usage": USAGE,
    }  # fmt: skip
    return orjson.dumps(answer)


def _chunk(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "upstream-model"}
    return b"data: " + orjson.dumps({**chunk, "choices": [choice]}) + b"\n\n"


def _stream() -> list[bytes]:
    usage = {
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "upstream-model", "choices": [],
        "usage": USAGE,
    }  # fmt: skip
    parts = [_chunk({"role": "assistant", "content": ""})]
    parts += [_chunk({"content": word}) for word in WORDS]
    parts += [_chunk({}, "stop"), b"data: " + orjson.dumps(usage) + b"\n\n", b"data: [DONE]\n\n"]
    return [b"%x\r\n%s\r\n" % (len(part), part) for part in parts] + [b"0\r\n\r\n"]


def _call() -> bytes:
    function = {"name": "web_search", "arguments": '{"query": "gateway"}'}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    answer = orjson.loads(_completion())
    answer["choices"] = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
    return orjson.dumps(answer)


def _answer(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


WHOLE, CALL = _answer(_completion()), _answer(_call())
_MODELS = _answer(orjson.dumps({"object": "list", "data": [{"id": "SvcLLM"}, {"id": "upstream-model"}]}))
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
PIECES = [HEAD, *_stream()]
STREAM = b"".join(PIECES)
_FEW = PIECES[:12] + PIECES[-4:]
_PACE_S = 0.001


class FastUpstream(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.pending = b""

    def data_received(self, data: bytes) -> None:
        self.pending += data
        while (end := self.pending.find(b"\r\n\r\n")) >= 0:
            head = self.pending[:end].lower()
            marker = head.find(b"content-length:")
            size = int(head[marker + 15 :].split(b"\r\n", 1)[0]) if marker >= 0 else 0
            if len(self.pending) < end + 4 + size:
                return
            body, self.pending = self.pending[end + 4 : end + 4 + size], self.pending[end + 4 + size :]
            streamed = b'"stream":true' in body or b'"stream": true' in body
            if head.startswith(b"get "):
                self.transport.write(_MODELS)
            elif b'"seed":1' in body and b'"role":"tool"' not in body:
                self.transport.write(CALL)
            elif streamed and b'"paced":true' in body:
                self.say(0, _FEW if b'"seed":2' in body else PIECES)
            else:
                self.transport.write(STREAM if streamed else WHOLE)

    def say(self, number: int, pieces: list[bytes]) -> None:
        """One piece, and the next a moment later: each is a read of its own for whoever relays it."""
        if self.transport.is_closing():
            return
        self.transport.write(pieces[number])
        if number + 1 < len(pieces):
            asyncio.get_running_loop().call_later(_PACE_S, self.say, number + 1, pieces)


async def main(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(FastUpstream, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
