"""Embeddings: calls the upstreams of a model of kind `embedding` until one answers, and checks the answer.

Model table, retries, fallbacks, queues and health are those of completions.
"""

from gateway.domain import Json, RequestStats
from gateway.errors import TEXTS_ALONE, UpstreamRefused
from gateway.services.completion.service import FREE, CompletionService
from gateway.wire import embeddings as wire

_ROUTE = "embeddings"


class EmbeddingService:
    """Answers embeddings requests to the models of a completion service's table."""

    def __init__(self, completions: CompletionService) -> None:
        self._completions = completions

    async def create(self, body: Json, stats: RequestStats) -> Json:
        """The embeddings object of a checked body (`wire.embeddings.embeddings_object`).

        Raises GatewayError: ModelNotFound, UpstreamError, also for an answer that does not fit the inputs, BudgetSpent,
        NoPrice.
        """
        plan, held = self._completions.plan(body["model"]), None
        plan.asked, user = body, self._completions.hashed_user(body, stats)
        estimate = wire.token_estimate(body)
        if stats.spend is not None:
            held = await stats.spend.reserve(body, stats, has_output=False)
        async with held or FREE:
            while True:
                async with plan.attempt(stats) as attempt:
                    target = attempt.target
                    sent = wire.to_upstream(body, target.options, user=user)
                    try:
                        answer = await target.upstream.complete(sent, stats, route=_ROUTE)
                    except UpstreamRefused as error:
                        if error.status == 400 and wire.has_token_ids(body):
                            error.message += f" ({TEXTS_ALONE})"
                        raise
                    if held is not None:
                        held.answered(wire.told_usage(answer))
                    data = wire.checked_data(answer, body)
                    break
        result = wire.embeddings_object(data, attempt.entry.shown, answer, estimate)
        result["provider_specific_fields"] |= {
            "provider": target.upstream.name, "model": target.options.name_of(body), "attempts": stats.attempts
        }  # fmt: skip
        if held is None:
            stats.input_tokens += result["usage"]["prompt_tokens"]
        return result
