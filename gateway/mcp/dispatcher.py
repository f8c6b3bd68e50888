"""From a body's bytes to the answers of its messages: read, prepared, run, whole or as events.

Runs the members of a batch side by side, reports progress, ends what is cancelled. Knows HTTP only by the few headers
MCP gives a meaning (`RpcHeaders`) and by the status hints of faults; makes no text of outcomes: `wire` renders them.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from gateway import logs
from gateway.domain import EventStream, Json, Progress, RequestStats, WebCall
from gateway.errors import GatewayError, InvalidRequest, RateLimited, UpstreamTimeout
from gateway.mcp import envelope, versions
from gateway.mcp.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Message,
    RpcBatch,
    RpcFault,
    ToolCall,
    ToolOutcome,
    error_response,
    failed,
    response,
    succeeded,
)
from gateway.mcp.methods import McpMethods
from gateway.mcp.progress import McpEventStream, ProgressReporter
from gateway.mcp.running_calls import RunningCalls
from gateway.mcp.tools import Tool, WebTools, tool_table
from gateway.mcp.versions import RpcHeaders

REQUEST_CANCELLED = -32800
_SIDE_BY_SIDE = 8


@dataclass(slots=True)
class RpcCaller:
    """Who asks. `owner` is the key id; `client()` tells apart the clients of one key as far as can be seen.

    `charge` takes one call from the key's minute and raises RateLimited.
    """

    owner: str
    client: Callable[[], Hashable]
    request_id: str
    charge: Callable[[], Awaitable[None]]
    stats: RequestStats


class Dispatcher:
    """One for the whole server."""

    def __init__(self, service: WebTools, running: RunningCalls) -> None:
        self._tools = tool_table(service)
        self._methods = McpMethods(self._tools)
        self._envelope = envelope.Envelope()
        self._running = running

    def check(self, raw: bytes, headers: RpcHeaders) -> RpcBatch:
        """A body's messages, each with its result, its call or its fault. Raises RpcFault: all of it is refused."""
        messages, is_batch = self._envelope.messages(envelope.decode(raw))
        revision = versions.choose(headers, messages, is_batch)
        if not messages and not is_batch and revision in versions.MODERN:
            raise RpcFault(INVALID_REQUEST, f"Revision {revision} takes no responses from clients")
        answered, shows_progress = [], False
        for message in messages:
            self._methods.prepare(message, revision, is_batch=is_batch)
            call, fault = message.call, message.fault
            if fault is not None and not is_batch and fault.status != 200:
                raise fault
            if message.is_request or fault is not None:
                answered.append(message)
            if call is not None and call.progress_token is not None and call.error is None:
                shows_progress = True
        wants_events = not headers.takes_json or (headers.takes_events and shows_progress)
        return RpcBatch(messages, answered, revision, is_batch, wants_events)

    def notify(self, exchange: RpcBatch, caller: RpcCaller) -> None:
        """Act on the body's notifications; nothing is answered to them."""
        if len(exchange.answered) == len(exchange.messages):
            return
        for message in exchange.messages:
            if message.method == "notifications/cancelled" and not message.is_request:
                meant = message.params.get("requestId")
                if type(meant) is str or type(meant) is int:
                    self._running.cancel(caller.client(), meant)

    def answer(self, exchange: RpcBatch, caller: RpcCaller) -> Awaitable[Json | list[Json]]:
        """The answer to a body with requests: a message, or a list of them for a batch, in order; not yet rendered.

        Raises RateLimited when a single call is over the limit.
        """
        if exchange.is_batch:
            return self._answer_batch(exchange, caller)
        message = exchange.answered[0]
        if message.call is not None:
            return self._call(message, message.call, exchange, caller, None)
        return self._answer(message, exchange, caller, None)

    async def _answer_batch(self, exchange: RpcBatch, caller: RpcCaller) -> list[Json]:
        turn = asyncio.Semaphore(_SIDE_BY_SIDE)

        async def member(message: Message) -> Json:
            async with turn:
                return await self._answer(message, exchange, caller, None)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(member(message)) for message in exchange.answered]
        return [task.result() for task in tasks]

    def events(self, exchange: RpcBatch, caller: RpcCaller) -> EventStream:
        """The same as a stream: progress notifications, and each answer when it is there."""
        with_text = exchange.revision >= versions.PROGRESS_MESSAGES_SINCE
        return McpEventStream(
            exchange.answered, lambda message, reporter: self._answer(message, exchange, caller, reporter), with_text
        ).events()

    async def _answer(
        self, message: Message, exchange: RpcBatch, caller: RpcCaller, reporter: ProgressReporter | None
    ) -> Json:
        if message.fault is not None:
            return error_response(message.fault)
        if message.call is None:
            return response(message.call_id, message.result or {})
        return await self._call(message, message.call, exchange, caller, reporter)

    async def _call(
        self, message: Message, call: ToolCall, exchange: RpcBatch, caller: RpcCaller, reporter: ProgressReporter | None
    ) -> Json:
        tool = self._tools[call.tool]
        caller.stats.tool = "batch" if exchange.is_batch else call.tool
        running = self._running.enter(caller.client, message.call_id)
        try:
            await caller.charge()
            outcome, from_web = succeeded(await _started(tool, call, caller, reporter)), tool.from_web
        except RateLimited as error:
            if not exchange.is_batch:
                raise  # the whole request is over the limit: a status the client's HTTP layer understands
            outcome, from_web = failed(error), False
        except GatewayError as error:
            caller.stats.outcome = "tool_error"
            outcome, from_web = failed(error), error.quoted is not None
        except asyncio.CancelledError:
            if not running.take_back():
                raise
            if running.expired:
                caller.stats.outcome = "tool_error"
                told = f"{tool.name} did not end within {self._running.longest_call_s:g} s"
                return self._outcome(failed(UpstreamTimeout(told)), message, exchange, from_web=False)
            caller.stats.outcome = "cancelled"
            return _fault(REQUEST_CANCELLED, "Cancelled by the client", message)
        except Exception as error:
            self._log(error, caller)
            return _fault(INTERNAL_ERROR, "The gateway failed on this call; its log has the details", message)
        finally:
            self._running.leave(running)
        return self._outcome(outcome, message, exchange, from_web)

    def _outcome(self, outcome: Json, message: Message, exchange: RpcBatch, from_web: bool) -> ToolOutcome:
        if message.call is not None and message.call.findings:
            outcome["data"]["sanitization"] = message.call.findings
        return ToolOutcome(outcome, message.call_id, self._methods.forms[exchange.revision], from_web)

    def _log(self, error: Exception, caller: RpcCaller) -> None:
        caller.stats.outcome = "failed"
        logs.event("unexpected", level=logging.ERROR, request_id=caller.request_id, error=logs.failure(error))


def _started(tool: Tool, call: ToolCall, caller: RpcCaller, reporter: ProgressReporter | None) -> Awaitable[Json]:
    """Raises what was found wrong with the call before it began."""
    if call.error is not None:
        raise call.error
    if call.slots and (masked := call.masked()):
        _take_masked(tool, call, masked)
    elif not call.is_shared:
        tool.remember(call)
    patient = call.progress_token is not None
    progress = Progress(reporter.changed) if reporter is not None and patient else None
    return tool.run(call.request, WebCall(caller.owner, caller.request_id, patient, progress))


def _take_masked(tool: Tool, call: ToolCall, masked: list[str]) -> None:
    """Masked arguments are checked again: a date or a country may no longer be one."""
    error = tool.arguments.check(call.arguments)
    if error is not None:
        shown = ", ".join(masked[:8])
        raise InvalidRequest(
            f"{error.message}. Sensitive values were masked in: {shown}", param=error.param, code="content_filter"
        )
    call.request = tool.as_request(call.arguments)


def _fault(code: int, text: str, message: Message) -> Json:
    return error_response(RpcFault(code, text, status=200, call_id=message.call_id))
