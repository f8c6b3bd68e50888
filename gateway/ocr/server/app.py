"""The embedded OCR engine as an OpenAI-compatible server on loopback: `gateway ocr-server --port P`.

`POST /v1/chat/completions` (whole and streamed), `GET /v1/models`, `GET /health`. One image a request, as a data URL:
the gateway fetches and inlines images, so that this process needs no network. Model parameters other than `max_tokens`
and `stop` have no meaning for a deterministic engine and are ignored. Knows nothing of pixels: `worker` reads. Wire
format: OpenAI chat completions, read 2026-11-21.
"""

import asyncio
import base64
import os
import re
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from aiohttp import web

from gateway.domain import Json
from gateway.embedded.llm_server import die_with_parent
from gateway.errors import GatewayError, InvalidRequest, PayloadTooLarge
from gateway.ocr.server.worker_client import OcrWorker, worker_command
from gateway.wire.ocr import REPORT, wants_details

# Characters of base64 decoded in one step; a multiple of four. it takes 0.4 ms;
MODEL_NAME = "embedded-ocr"
DATA_URL = re.compile(r"\Adata:[^,]*;base64,", re.IGNORECASE)


class ImageField(NamedTuple):
    """A data URL, where its base64 starts, and its field."""

    url: str
    start: int
    where: str


@dataclass(frozen=True, slots=True)
class OcrJob:
    """A checked request: `max_tokens` None for no limit, `stops` the stop strings, `details`: report every line."""

    model: str
    image: bytearray
    prompt: str
    max_tokens: int | None
    stops: tuple[str, ...]
    is_stream: bool
    include_usage: bool
    details: bool = False


def parse_job(body: bytes | bytearray) -> OcrJob:
    """The checked request. Raises InvalidRequest that names the field: anybody may call this server."""
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest("the body is not valid JSON", code="invalid_json") from error
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        raise InvalidRequest("`messages` must be a list with one user message", param="messages")
    texts: list[str] = []
    images: list[ImageField] = []
    for number, message in enumerate(request["messages"]):
        _collect_parts(message, f"messages[{number}]", texts, images)
    if len(images) != 1:
        raise InvalidRequest(f"a request must have exactly one image; this one has {len(images)}", param="messages")
    image = _decoded(images[0])
    stop = request.get("stop")
    maximum = request.get("max_completion_tokens") or request.get("max_tokens")
    options = request.get("stream_options")
    return OcrJob(
        model=str(request.get("model") or MODEL_NAME),
        image=image,
        prompt="\n".join(texts),
        max_tokens=maximum if isinstance(maximum, int) and maximum > 0 else None,
        stops=tuple(s for s in ([stop] if isinstance(stop, str) else stop or ()) if isinstance(s, str) and s),
        is_stream=request.get("stream") is True,
        include_usage=isinstance(options, dict) and options.get("include_usage") is True,
        details=wants_details(request),
    )


def _collect_parts(message: Any, where: str, texts: list[str], images: list[ImageField]) -> None:
    if not isinstance(message, dict):
        raise InvalidRequest("a message must be an object", param=where)
    content = message.get("content")
    if message.get("role") != "user":
        return
    if isinstance(content, str):
        texts.append(content)
        return
    for number, part in enumerate(content if isinstance(content, list) else []):
        if isinstance(part, dict) and part.get("type") == "text":
            texts.append(str(part.get("text", "")))
        elif isinstance(part, dict) and part.get("type") == "image_url":
            images.append(_image_of(part, f"{where}.content[{number}].image_url.url"))


def _image_of(part: Json, where: str) -> ImageField:
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    head = DATA_URL.match(url) if isinstance(url, str) else None
    if head is None or not isinstance(url, str):
        raise InvalidRequest("the image must be a base64 data URL", param=where, code="invalid_image_url")
    return ImageField(url, head.end(), where)


def _decoded(image: ImageField) -> bytearray:
    """The bytes of an image."""
    try:
        return bytearray(base64.b64decode(memoryview(image.url.encode())[image.start :], validate=True))
    except ValueError as error:
        raise InvalidRequest("the image is not valid base64", param=image.where, code="invalid_image_url") from error


# Four characters a token is the usual rule for English; 256 tokens are DeepSeek-OCR's for an image at its base size.
CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 256


def count_tokens(text: str) -> int:
    """The estimated number of tokens, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


@dataclass(slots=True)
class OutputLimit:
    """Cuts a stream of pieces at `max_tokens` or before the first stop string.

    `finish_reason` becomes `length` or `stop`; `text_chars` counts the characters given out.
    """

    max_tokens: int | None = None
    stops: tuple[str, ...] = ()
    finish_reason: str | None = None
    text_chars: int = 0
    _pending: str = ""

    def feed(self, piece: str) -> str:
        """The text that is safe to send now: an end that may begin a stop string waits. Empty once `finish_reason` is
        set."""
        if self.finish_reason is not None:
            return ""
        text = self._pending + piece
        ends = [at for at in (text.find(stop) for stop in self.stops) if at >= 0]
        if ends:
            self._pending, text = "", text[: min(ends)]
            self.finish_reason = "stop"
        else:
            waiting = self._possible_stop(text)
            self._pending, text = text[len(text) - waiting :], text[: len(text) - waiting]
        return self._bounded(text)

    def finish(self) -> str:
        """The rest of the text; sets the finish reason. Call it after the last piece."""
        if self.finish_reason is not None:
            return ""
        text = self._bounded(self._pending)
        self._pending = ""
        if self.finish_reason is None:
            self.finish_reason = "stop"
        return text

    def _bounded(self, text: str) -> str:
        if self.max_tokens is not None:
            room = self.max_tokens * CHARS_PER_TOKEN - self.text_chars
            if len(text) > room:
                text, self.finish_reason = text[:room], "length"
        self.text_chars += len(text)
        return text

    def _possible_stop(self, text: str) -> int:
        """Length of the longest end of the text that is the beginning of a stop string."""
        longest = max((len(stop) - 1 for stop in self.stops), default=0)
        for length in range(min(longest, len(text)), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self.stops):
                return length
        return 0


# above the gateway's own limit (server.max_body_bytes, 32 MiB), as base64 adds a third.
HOST = "127.0.0.1"
MAX_BODY_BYTES = 48 * 1024 * 1024
WORKER = web.AppKey("worker", OcrWorker)


def serve(port: int, threads: int = 0, nice: int = 0) -> None:
    """Run until SIGTERM or SIGINT. Prints `ready PORT` on standard output once it listens.

    `threads` 0: every core. `nice`: the nice value of the process that reads, so that a page does not keep the
    gateway beside it from a core.
    """
    die_with_parent()
    asyncio.run(_serve(port, worker_command(threads or os.cpu_count() or 1, nice)))


async def _serve(port: int, command: tuple[str, ...]) -> None:
    runner = runner_of(OcrWorker(command))
    await runner.setup()
    site = web.TCPSite(runner, HOST, port)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    try:
        await site.start()
        sys.stdout.write(f"ready {runner.addresses[0][1]}\n")
        sys.stdout.flush()
        await stopped.wait()
    finally:
        await runner.cleanup()


def runner_of(worker: OcrWorker) -> web.AppRunner:
    """Runs the application. A request whose client has left is cancelled, with its page, for which nobody waits."""
    return web.AppRunner(build_app(worker), access_log=None, handler_cancellation=True)


def build_app(worker: OcrWorker) -> web.Application:
    """The application around a worker; its cleanup closes the worker."""
    app = web.Application(middlewares=[errors])
    app[WORKER] = worker
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_get("/v1/models", models)
    app.router.add_get("/health", health)

    async def close(app: web.Application) -> None:
        await app[WORKER].close()

    app.on_cleanup.append(close)
    return app


@web.middleware
async def errors(request: web.Request, handler: Any) -> web.StreamResponse:
    """Answers GatewayErrors with `error_body`."""
    try:
        response: web.StreamResponse = await handler(request)
        return response
    except GatewayError as error:
        headers = {} if error.retry_after_s is None else {"Retry-After": str(round(error.retry_after_s))}
        return web.json_response(error_body(error), status=error.status, headers=headers)


def error_body(error: GatewayError) -> Json:
    """`{error: {message, type, param, code}}`, as OpenAI words errors."""
    return {"error": {"message": error.message, "type": error.type, "param": error.param, "code": error.code}}


async def health(request: web.Request) -> web.Response:
    """`{status: "ok", loaded: whether the worker process runs}`."""
    return web.json_response({"status": "ok", "loaded": request.app[WORKER].is_loaded})


async def models(request: web.Request) -> web.Response:
    """OpenAI's list of models, with the one there is."""
    entry = {"id": MODEL_NAME, "object": "model", "created": 0, "owned_by": "gateway"}
    return web.json_response({"object": "list", "data": [entry]})


async def chat(request: web.Request) -> web.StreamResponse:
    """One chat completion, whole or as server-sent events. Errors of a running stream become its last event."""
    job = parse_job(await _body(request))
    worker = request.app[WORKER]
    limit = OutputLimit(job.max_tokens, job.stops)
    pieces = worker.read(job.image, job.prompt, details=job.details)
    try:
        if job.is_stream:
            return await _stream(request, job, limit, pieces)
        report: Json = {}
        text = "".join([text async for text in _limited(pieces, limit, report)])
        answer = _completion(job, limit, text, worker.fingerprint)
        answer["choices"][0][REPORT] = report
        return web.json_response(answer)
    finally:
        await pieces.aclose()


async def _body(request: web.Request) -> bytearray:
    """The body, put together as it comes: aiohttp's `read` copies it whole at the end, 26 MB in 10 ms, and keeps it."""
    body = bytearray()
    while piece := await request.content.readany():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            raise PayloadTooLarge(f"the body is too large: at most {MAX_BODY_BYTES} bytes are allowed")
    return body


async def _limited(pieces: AsyncIterator[str | Json], limit: OutputLimit, report: Json) -> AsyncIterator[str]:
    """The texts up to the limit; fills `report`. An image is read to its end, so that the report is of all of it."""
    async for piece in pieces:
        if isinstance(piece, dict):
            report.update(piece)
        elif limit.finish_reason is None and (text := limit.feed(piece)):
            yield text
    if limit.finish_reason is None and (rest := limit.finish()):
        yield rest


async def _stream(
    request: web.Request, job: OcrJob, limit: OutputLimit, pieces: AsyncIterator[str | Json]
) -> web.StreamResponse:
    report: Json = {}
    texts = _limited(pieces, limit, report)
    # The headers are sent after the first piece, so that a bad image gets a status of 400.
    first = await anext(texts, "")
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    chunks = Chunks(job, request.app[WORKER].fingerprint)
    await response.write(chunks.delta({"role": "assistant", "content": first}))
    try:
        async for piece in texts:
            await response.write(chunks.delta({"content": piece}))
    except GatewayError as error:
        await response.write(b"data: " + orjson.dumps(error_body(error)) + b"\n\n")
        return response
    await response.write(chunks.end(limit.finish_reason, report))
    if job.include_usage:
        await response.write(chunks.usage(limit))
    await response.write(b"data: [DONE]\n\n")
    return response


class Chunks:
    """The events of one streamed answer."""

    def __init__(self, job: OcrJob, fingerprint: str) -> None:
        self._job = job
        self._shared: Json = {
            "id": _new_id(),
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": job.model,
            "system_fingerprint": fingerprint,
        }

    def delta(self, delta: Json, finish_reason: str | None = None) -> bytes:
        """One event with a delta: `{role, content}`, `{content}` or, at the end, `{}`."""
        return self._event([{"index": 0, "delta": delta, "finish_reason": finish_reason}])

    def end(self, finish_reason: str | None, report: Json) -> bytes:
        """The event with the finish reason and the report on the image."""
        return self._event([{"index": 0, "delta": {}, "finish_reason": finish_reason, REPORT: report}])

    def usage(self, limit: OutputLimit) -> bytes:
        """The event with the estimated usage and no choices."""
        return self._event([], usage=_usage(self._job, limit))

    def _event(self, choices: list[Json], **more: Any) -> bytes:
        return b"data: " + orjson.dumps({**self._shared, "choices": choices, **more}) + b"\n\n"


def _completion(job: OcrJob, limit: OutputLimit, text: str, fingerprint: str) -> Json:
    message = {"role": "assistant", "content": text}
    return {
        "id": _new_id(),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": job.model,
        "system_fingerprint": fingerprint,
        "choices": [{"index": 0, "message": message, "finish_reason": limit.finish_reason, "logprobs": None}],
        "usage": _usage(job, limit),
    }


def _usage(job: OcrJob, limit: OutputLimit) -> Json:
    prompt = IMAGE_TOKENS + count_tokens(job.prompt)
    completion = -(-limit.text_chars // CHARS_PER_TOKEN)
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {**counts, "estimated": True}


def _new_id() -> str:
    return f"chatcmpl-{uuid.uuid4().hex[:24]}"
