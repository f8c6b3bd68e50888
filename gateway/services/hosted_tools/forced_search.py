"""Web search for models that call no tools: one search for the last question, its results in the prompt.

The same events as `loop.HostedLoop` with one call in it.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

import orjson

from gateway.domain import Json, RequestStats
from gateway.engines.answer.excerpt import excerpt_steps
from gateway.resilience.slices import in_slices
from gateway.services.completion.service import CompletionService
from gateway.services.hosted_tools.loop import LoopLimits, LoopRequest, is_prose, run_all
from gateway.services.hosted_tools.model_round import Round, RoundReader, ask, message_text
from gateway.services.hosted_tools.sources import Sources
from gateway.services.hosted_tools.web_search import WebSearchTool
from gateway.wire.hosted_answer import AnswerEnd, HostedCall, HostedEvent

_MAX_QUERY_CHARS = 400
"""A question of several sentences."""
_PASSAGE_CHARS = 500
_PASSAGES: Mapping[str, int] = {"low": 2, "medium": 4, "high": 8}
"""What a prompt holds, by `search_context_size`. Tried on the packaged model of 135 million parameters (2026-11-22, 13
questions about the documentation): with 300 characters of a page, or with a third page, it answers beside the point
more often, and 6,000 characters took it 25 s."""
_EXAMPLE = (
    {
        "role": "user",
        "content": "Berlin has 3.9 million inhabitants [1].\n\nThe river Spree flows through Berlin [2].\n\n"
        "Question: How many people live in Berlin?",
    },
    {"role": "assistant", "content": "3.9 million people live in Berlin [1]."},
)
"""Shows how to cite: small models follow an example, and repeat an instruction instead of following it."""
_NOTHING = "A web search for this question found nothing."


async def search_once(
    completions: CompletionService,
    search: WebSearchTool,
    sources: Sources,
    limits: LoopLimits,
    request: LoopRequest,
    stats: RequestStats,
) -> AsyncGenerator[list[HostedEvent], None]:
    """As `HostedLoop.run`; `sources` are the pages that `search` shows. Without a question in words there is no search;
    the model sees when it failed."""
    body, question = request.body, _question(request.body["messages"])
    if question:
        name = search.functions(())[0]["function"]["name"]
        call = search.start(name, orjson.dumps({"query": question[:_MAX_QUERY_CHARS]}).decode())
        async with aclosing(run_all([(search, call)], limits.total_s)) as phases:
            async for batch in phases:
                yield batch
        body = {**body, "messages": await _with_results(body["messages"], call, search.size)}
    made = Round(lambda _: False)
    reader = RoundReader(made, sources if is_prose(body) else None)
    async with aclosing(ask(completions, body, stats, reader)) as batches:
        async for batch in batches:
            yield batch
    yield [AnswerEnd(made.finish_reason, made.usage, made.backend, made.identity)]


def _question(messages: Sequence[Json]) -> str:
    """The text of the last user message."""
    last = next((message for message in reversed(messages) if message.get("role") == "user"), {})
    return message_text(last).strip()


async def _with_results(messages: Sequence[Json], call: HostedCall, size: str) -> list[Json]:
    """The messages with what the search brought before the question, in the same message, each passage followed by its
    number; and an example before the conversation."""
    place = max(index for index, message in enumerate(messages) if message.get("role") == "user")
    question = message_text(messages[place])
    numbers = {source.url: source.number for source in call.sources}
    passages = []
    for result in call.results[: _PASSAGES[size]]:
        if result["url"] in numbers and result["content"]:
            part = await in_slices(excerpt_steps(result["content"], question, _PASSAGE_CHARS))
            passages.append(f"{' '.join(part.split())} [{numbers[result['url']]}]")
    text = "\n\n".join([*(passages or [_NOTHING]), "Question:"])
    content = messages[place]["content"]
    content = [{"type": "text", "text": text}, *content] if isinstance(content, list) else f"{text} {content}"
    first = next(index for index, message in enumerate(messages) if message.get("role") not in ("system", "developer"))
    example = _EXAMPLE if passages else ()
    asked = {**messages[place], "content": content}
    return [*messages[:first], *example, *messages[first:place], asked, *messages[place + 1 :]]
