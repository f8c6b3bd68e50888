"""Answers a body as an event stream: each request runs in a task of its own; its progress and its answer are events.

Only the latest progress is stored, so a slow client gets fewer steps, never a queue of them. Closing the stream cancels
the requests that still run and waits until they have ended. Knows no tool.
Source: modelcontextprotocol.io, "Progress", all revisions, read 2026-11-21.
"""

import asyncio
from collections.abc import Awaitable, Callable

from gateway.domain import Event, EventStream, Json, Progress
from gateway.mcp.messages import Message, render


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


class McpEventStream:
    """The event stream for one body. `with_text` as in ProgressReporter."""

    def __init__(self, messages: list[Message], answer: Answer, with_text: bool) -> None:
        self._messages = messages
        self._answer = answer
        self._with_text = with_text

    async def events(self) -> EventStream:
        """Batches of `message` events; ends after the last answer. Raises an answer's errors."""
        wake = asyncio.Event()
        reporters: list[ProgressReporter] = []
        running: list[asyncio.Task[Json]] = []
        for message in self._messages:
            reporter = self._reporter(message, wake)
            reporters += [reporter] if reporter is not None else []
            task = asyncio.ensure_future(self._answer(message, reporter))
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

    def _reporter(self, message: Message, wake: asyncio.Event) -> ProgressReporter | None:
        if message.call is None or message.call.progress_token is None:
            return None
        return ProgressReporter(message.call.progress_token, wake, self._with_text)
