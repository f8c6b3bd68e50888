"""The embedded OCR engine as an OpenAI-compatible server on loopback: `gateway ocr-server --port P`.

`POST /v1/chat/completions` (whole and streamed), `GET /v1/models`, `GET /health`. One image a request, as a data URL:
the gateway fetches and inlines images, so that this process needs no network. Model parameters other than `max_tokens`
and `stop` have no meaning for a deterministic engine and are ignored. Knows nothing of pixels: `worker` reads. Wire
format: OpenAI chat completions, read 2026-11-21.
"""

import asyncio
import os
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import orjson
from aiohttp import web

from gateway.domain import Json
from gateway.embedded.parent_death import die_with_parent
from gateway.errors import GatewayError, PayloadTooLarge
from gateway.ocr.server.job import MODEL_NAME, Job, parse_job
from gateway.ocr.server.output_limit import CHARS_PER_TOKEN, IMAGE_TOKENS, OutputLimit, count_tokens
from gateway.ocr.server.worker_client import OcrWorker, worker_command
from gateway.wire.ocr import REPORT

HOST = "127.0.0.1"
MAX_BODY_BYTES = 48 * 1024 * 1024
"""Chosen: above the gateway's own limit (server.max_body_bytes, 32 MiB), as base64 adds a third. At half, large images
that the gateway took are refused here; at double, eight waiting requests may hold 0.8 GB."""
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
    request: web.Request, job: Job, limit: OutputLimit, pieces: AsyncIterator[str | Json]
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

    def __init__(self, job: Job, fingerprint: str) -> None:
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


def _completion(job: Job, limit: OutputLimit, text: str, fingerprint: str) -> Json:
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


def _usage(job: Job, limit: OutputLimit) -> Json:
    prompt = IMAGE_TOKENS + count_tokens(job.prompt)
    completion = -(-limit.text_chars // CHARS_PER_TOKEN)
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {**counts, "estimated": True}


def _new_id() -> str:
    return f"chatcmpl-{uuid.uuid4().hex[:24]}"
