"""Answers as they come: each request of a body in a task of its own, its progress and its end as events.

Progress is reported as the latest state, when there is someone to write it: a slow reader gets fewer steps, never a
queue of them. Closing the stream cancels what still runs and waits until it is gone. Knows no tool.
"""

import asyncio
from collections.abc import Awaitable, Callable

from gateway.domain import Event, EventStream, Json, Progress
from gateway.mcp.messages import Message, render


class ProgressReporter:
    """The progress of one call as its client has seen it: figures only ever rise."""

    def __init__(self, token: str | int, wake: asyncio.Event, with_text: bool) -> None:
        self._token = token
        self._wake = wake
        self._with_text = with_text
        self._latest: tuple[int, int | None] | None = None
        self._seen = -1

    def changed(self, progress: Progress) -> None:
        self._latest = (progress.done, progress.total)
        self._wake.set()

    def event(self) -> Event | None:
        """A `notifications/progress` when there is news. Its words are ours: page titles would be text of others."""
        if self._latest is None or self._latest[0] <= self._seen:
            return None
        self._seen, total = self._latest
        params: Json = {"progressToken": self._token, "progress": self._seen}
        if total is not None:
            params["total"] = max(total, self._seen)
        if self._with_text:
            params["message"] = f"{self._seen} pages" if total is None else f"{self._seen} of {params['total']} pages"
        return Event.from_data({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}, name="message")


Answer = Callable[[Message, ProgressReporter | None], Awaitable[Json]]


class McpEventStream:
    def __init__(self, messages: list[Message], answer: Answer, with_text: bool) -> None:
        self._messages = messages
        self._answer = answer
        self._with_text = with_text

    async def events(self) -> EventStream:
        """Batches of events, ended with the last answer. Raises what an answer raises."""
        wake = asyncio.Event()
        reporters: list[ProgressReporter] = []
        running: list[asyncio.Task[Json]] = []
        for message in self._messages:
            reporter = self._meter(message, wake)
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

    def _meter(self, message: Message, wake: asyncio.Event) -> ProgressReporter | None:
        if message.call is None or message.call.progress_token is None:
            return None
        return ProgressReporter(message.call.progress_token, wake, self._with_text)
