"""What an upstream lists; `gateway serve --upstream URL`: the configuration that serves its model."""

import asyncio
import json
from dataclasses import replace

from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.settings import Upstream
from gateway.domain import TEXT_MODEL
from gateway.errors import InvalidRequest, UpstreamError
from gateway.providers.openai_compat import OpenAICompatUpstream

_ASK_S = 10.0
"""How long an upstream may take to list its models."""


def as_toml(url: str, model: str, environment: Environment) -> str:
    """The tables. Without a `model`, the upstream is asked for the one that it has. Raises InvalidRequest where it does
    not tell, or has several, and ConfigError for an address that cannot be used."""
    if not model:
        config = load_config(None, None, environment, text=as_toml(url, "-", environment))
        model = asyncio.run(_only_model(config.models[0].upstreams[0]))
    key = 'api_key = { credential = "upstream" }\n' if environment.credential("upstream") else ""
    return (
        f'[[models]]\nname = "{TEXT_MODEL}"\n\n[[models.upstreams]]\nbase_url = {json.dumps(url)}\n'
        f"model = {json.dumps(model, ensure_ascii=False)}\n{key}\n"
        '[guardrail]\nenabled = "off"   # "auto" turns it on: the model then judges what goes to the web tools\n'
    )


async def listed_models(upstream: Upstream) -> list[str]:
    """The names of the models that an upstream lists. Raises UpstreamError, TimeoutError, OSError."""
    client = OpenAICompatUpstream("upstream", replace(upstream, first_byte_timeout_s=_ASK_S))
    try:
        async with asyncio.timeout(_ASK_S):
            return await client.listed_models()
    finally:
        await client.close()


async def _only_model(upstream: Upstream) -> str:
    url = upstream.base_url
    try:
        names = await listed_models(upstream)
    except (UpstreamError, TimeoutError, OSError) as error:
        cause = getattr(error, "cause", "") or type(error).__name__
        remedy = "correct it (most end in /v1), start what serves there, or name the model with --upstream-model"
        raise InvalidRequest(f"{url} does not tell which models it has ({cause}); {remedy}") from None
    if len(names) != 1:
        raise InvalidRequest(f"{url} has {len(names)} models; name one with --upstream-model: {', '.join(names[:10])}")
    return names[0]
