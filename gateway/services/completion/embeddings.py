"""Embeddings: calls the upstreams of a model of kind `embedding` until one answers, and checks the answer.

Model table, retries, fallbacks, queues and health are those of completions. Knows no HTTP.
"""

import asyncio

from gateway.domain import Json, RequestStats
from gateway.resilience.slices import in_slices
from gateway.services.completion.held_body import HeldBody
from gateway.services.completion.service import CompletionService
from gateway.wire.embeddings import answer as wire

_ROUTE = "embeddings"


class EmbeddingService:
    """Answers embeddings requests to the models of a completion service's table."""

    def __init__(self, completions: CompletionService) -> None:
        self._completions = completions

    async def create(self, body: Json, stats: RequestStats) -> Json:
        """The embeddings object of a checked body (`wire.embeddings.answer.embeddings_object`).

        Raises GatewayError: ModelNotFound, UpstreamError, also for an answer that does not fit the inputs.
        """
        plan = self._completions.plan(body["model"])
        held = HeldBody(body, stats.body_values, is_owned=stats.owns_body)
        user = self._completions.hashed_user(body)
        stats.user_hash = user or ""
        count, estimate = wire.input_count(body), await in_slices(wire.token_steps(body))
        del body
        while True:
            async with plan.attempt(stats) as attempt:
                target = attempt.target
                sent = wire.to_upstream(held.take(), target.options, user=user)
                sent = await held.pack(sent, is_read=attempt.is_read)
                call = target.upstream.complete(sent, stats, route=_ROUTE)
                del sent
                answer = await call
                for items in wire.checked_data(answer, count):
                    data = items
                    await asyncio.sleep(0)
                break
        result = wire.embeddings_object(data, attempt.entry.name, answer, estimate)
        result["provider_specific_fields"] |= {
            "provider": target.upstream.name, "model": target.options.model, "attempts": stats.attempts
        }  # fmt: skip
        stats.input_tokens += result["usage"]["prompt_tokens"]
        return result
