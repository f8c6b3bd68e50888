"""Turns a body's bytes into the answers to its messages, whole or as events.

Runs the members of a batch at the same time, reports progress, ends cancelled calls. Knows HTTP only by the few
headers that MCP defines (`RpcHeaders`) and by the status of faults. Outcomes stay data here: `messages.render` makes
the text after they were sanitized.

In an event stream each request runs in a task of its own; its progress and its answer are events. Only the latest
progress is stored, so a slow client gets fewer steps, never a queue of them. Closing the stream cancels the requests
that still run and waits until they have ended. Source: modelcontextprotocol.io, "Progress", all revisions, read
2026-11-21.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from gateway import logs, trace
from gateway.domain import Event, EventStream, Json, Progress, RequestStats, WebCall
from gateway.errors import GatewayError, RateLimited, UpstreamTimeout, error_label
from gateway.mcp import versions
from gateway.mcp.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Envelope,
    Message,
    RequestId,
    RpcBatch,
    RpcFault,
    ToolOutcome,
    error_response,
    render,
    response,
    value_of,
)
from gateway.mcp.methods import McpMethods
from gateway.mcp.running_calls import RunningCalls
from gateway.mcp.versions import RpcHeaders
from gateway.services.websearch.tool_calls import ToolCall, failed, succeeded
from gateway.services.websearch.tool_runner import Charge, ToolRunner
from gateway.services.websearch.tools import Searched, WebTools, tool_table
from gateway.wire.json_body import JsonBody


class ProgressReporter:
    """The progress of one call. The numbers its client sees only rise, as MCP demands.

    `token` is the client's progress token; `wake` is set at every step; `with_text` adds a `message` to each report.
    """

    def __init__(self, token: str | int, wake: asyncio.Event, with_text: bool) -> None:
        self._token = token
        self._wake = wake
        self._with_text = with_text
        self._latest: tuple[int, int | None] | None = None
        self._last_sent = -1

    def changed(self, progress: Progress) -> None:
        """Store the latest state; for `Progress.on_change`."""
        self._latest = (progress.done, progress.total)
        self._wake.set()

    def event(self) -> Event | None:
        """A `notifications/progress` with `{progressToken, progress, total?, message?}`; None without a new step.

        The message holds numbers only: a page's title would be text from the web, which nobody has sanitized.
        """
        if self._latest is None or self._latest[0] <= self._last_sent:
            return None
        done, total = self._latest
        self._last_sent = done
        params: Json = {"progressToken": self._token, "progress": done}
        if total is not None:
            params["total"] = max(total, done)
        if self._with_text:
            params["message"] = f"{done} pages" if total is None else f"{done} of {params['total']} pages"
        return Event.from_data({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}, name="message")


Answer = Callable[[Message, ProgressReporter | None], Awaitable[Json]]
"""Answers one message of a body, and reports progress where there is a reporter."""


async def events_of(messages: list[Message], answer: Answer, *, with_text: bool) -> EventStream:
    """Batches of `message` events; ends after the last answer. `with_text` as in ProgressReporter. Raises an answer's
    errors."""
    wake = asyncio.Event()
    reporters: list[ProgressReporter] = []
    running: list[asyncio.Task[Json]] = []
    for message in messages:
        reporter = None
        if message.call is not None and message.call.progress_token is not None:
            reporter = ProgressReporter(message.call.progress_token, wake, with_text)
            reporters.append(reporter)
        task = asyncio.ensure_future(answer(message, reporter))
        task.add_done_callback(lambda _: wake.set())
        running.append(task)
    pending = running.copy()
    try:
        while pending:
            await wake.wait()
            wake.clear()
            batch = [event for reporter in reporters if (event := reporter.event()) is not None]
            done = [task for task in pending if task.done()]
            pending = [task for task in pending if task not in done]
            batch += [Event.from_data(task.result(), name="message", finish=render) for task in done]
            yield batch
    finally:
        for task in pending:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


REQUEST_CANCELLED = -32800
"""Error code of a call that its client cancelled: the Language Server Protocol's; MCP defines none."""

_MAX_CONCURRENT_MEMBERS = 8
"""Members of one batch that run at the same time."""


@dataclass(slots=True)
class RpcCaller:
    """Who sent a body. `owner` is the key's id; `client()` tells the clients of one key apart, as far as HTTP shows."""

    owner: str
    client: Callable[[], Hashable]
    request_id: str
    charge: Charge
    stats: RequestStats


class Dispatcher:
    """Answers bodies; one for the whole server. Call `check`, then `notify`, then `answer` or `events`."""

    def __init__(
        self,
        service: WebTools,
        running: RunningCalls,
        searched: Searched = "web",
        cancel: Callable[[Hashable, RequestId], object] | None = None,
    ) -> None:
        """`cancel` ends a client's call wherever it runs; without it, in this process."""
        self._tools = tool_table(service, searched)
        self._runner = ToolRunner(self._tools)
        self._methods = McpMethods(self._tools)
        self._envelope = Envelope()
        self._running = running
        self._cancel = cancel or running.cancel

    def check(self, body: JsonBody, headers: RpcHeaders) -> RpcBatch:
        """A body's messages, each with its result, its call or its fault. Raises RpcFault when all of it is refused."""
        messages, is_batch = self._envelope.messages(value_of(body))
        revision = versions.choose(headers, messages, is_batch)
        if not messages and not is_batch and revision in versions.MODERN:
            raise RpcFault(INVALID_REQUEST, f"revision {revision} takes no responses from clients; send a request")
        answered, shows_progress = [], False
        for message in messages:
            self._methods.prepare(message, revision, is_batch=is_batch)
            call, fault = message.call, message.fault
            if message.is_request:
                message.params = {}  # a call has its arguments; the rest must not be held until it is answered
            if fault is not None and not is_batch and fault.status != 200:
                raise fault
            if message.is_request or fault is not None:
                answered.append(message)
            if call is not None and call.progress_token is not None and call.error is None:
                shows_progress = True
        wants_events = not headers.takes_json or (headers.takes_events and shows_progress)
        return RpcBatch(messages, answered, revision, is_batch, wants_events)

    def notify(self, batch: RpcBatch, caller: RpcCaller) -> None:
        """Act on the body's notifications: cancel the call that `notifications/cancelled` names. They get no answer."""
        if len(batch.answered) == len(batch.messages):
            return
        for message in batch.messages:
            if message.method == "notifications/cancelled" and not message.is_request:
                call_id = message.params.get("requestId")
                if type(call_id) is str or type(call_id) is int:
                    self._cancel(caller.client(), call_id)

    def answer(self, batch: RpcBatch, caller: RpcCaller) -> Awaitable[Json | list[Json]]:
        """The answer to a body with requests, to be rendered: one message, or a list in order for a batch.

        A message is a ToolOutcome, `{jsonrpc, id, result}` or `{jsonrpc, id, error: {code, message, data?}}`. Raises
        RateLimited when a single call is over the key's limit.
        """
        if batch.is_batch:
            return self._answer_batch(batch, caller)
        message = batch.answered[0]
        if message.call is not None:
            return self._call(message, message.call, batch, caller, None)
        return self._answer(message, batch, caller, None)

    async def _answer_batch(self, batch: RpcBatch, caller: RpcCaller) -> list[Json]:
        turn = asyncio.Semaphore(_MAX_CONCURRENT_MEMBERS)

        async def member(message: Message) -> Json:
            async with turn:
                return await self._answer(message, batch, caller, None)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(member(message)) for message in batch.answered]
        return [task.result() for task in tasks]

    def events(self, batch: RpcBatch, caller: RpcCaller) -> EventStream:
        """The same answers as events named `message`, each when it is ready, and progress notifications before them.

        Raises RateLimited like `answer`.
        """
        with_text = batch.revision >= versions.PROGRESS_MESSAGES_SINCE
        return events_of(
            batch.answered,
            lambda message, reporter: self._answer(message, batch, caller, reporter),
            with_text=with_text,
        )

    async def _answer(
        self, message: Message, batch: RpcBatch, caller: RpcCaller, reporter: ProgressReporter | None
    ) -> Json:
        if message.fault is not None:
            return error_response(message.fault)
        if message.call is None:
            return response(message.call_id, message.result or {})
        return await self._call(message, message.call, batch, caller, reporter)

    async def _call(
        self, message: Message, call: ToolCall, batch: RpcBatch, caller: RpcCaller, reporter: ProgressReporter | None
    ) -> Json:
        tool = self._tools[call.tool]
        caller.stats.tool = "batch" if batch.is_batch else call.tool
        running = self._running.enter(caller.client, message.call_id)
        token = trace.enter(call.trace_parent) if call.trace_parent is not None else None
        try:
            data = await self._runner.run(call, caller.charge, _how(call, caller, reporter))
            outcome, from_web = succeeded(data), tool.from_web
        except RateLimited as error:
            if not batch.is_batch:
                raise  # the whole request is over the limit: 429, which HTTP clients understand
            outcome, from_web = failed(error), False
        except GatewayError as error:
            caller.stats.outcome, caller.stats.code = "tool_error", error_label(error)
            outcome, from_web = failed(error), error.quoted is not None or error.partial is not None
        except asyncio.CancelledError:
            if not running.take_back():
                raise
            if running.expired:
                caller.stats.outcome = "tool_error"
                timeout = UpstreamTimeout(f"{tool.name} did not end within {self._running.longest_call_s:g} s")
                return self._outcome(failed(timeout), message, batch, from_web=False)
            caller.stats.outcome = "cancelled"
            return _fault(REQUEST_CANCELLED, "cancelled by the client", message)
        except Exception as error:
            self._log(error, caller)
            return _fault(INTERNAL_ERROR, "the gateway failed on this call; its log has the details", message)
        finally:
            self._running.leave(running)
            if token is not None:
                trace.leave(token)
        return self._outcome(outcome, message, batch, from_web)

    def _outcome(self, outcome: Json, message: Message, batch: RpcBatch, from_web: bool) -> ToolOutcome:
        if message.call is not None and message.call.findings:
            outcome["data"]["sanitization"] = message.call.findings
        return ToolOutcome(outcome, message.call_id, self._methods.forms[batch.revision], from_web)

    def _log(self, error: Exception, caller: RpcCaller) -> None:
        caller.stats.outcome = "failed"
        logs.event("unexpected", level=logging.ERROR, request_id=caller.request_id, error=logs.failure(error))


def _how(call: ToolCall, caller: RpcCaller, reporter: ProgressReporter | None) -> WebCall:
    patient = call.progress_token is not None
    progress = Progress(reporter.changed) if reporter is not None and patient else None
    return WebCall(caller.owner, caller.request_id, patient, progress)


def _fault(code: int, text: str, message: Message) -> Json:
    return error_response(RpcFault(code, text, status=200, call_id=message.call_id))
