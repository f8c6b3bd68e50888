"""The OpenAPI document in the hands of others: a checker finds no fault, a client made from it compiles and works."""

import json
from typing import Any

import pytest

from tests.support.gateways import Serve
from tests.support.model_clients import openapi_command
from tests.support.official import run
from tests.support.upstream import answer, scripted_upstream


@pytest.mark.system
async def test_a_client_made_from_the_document_compiles_and_calls_every_kind_of_route(serve: Serve) -> None:
    async with scripted_upstream() as upstream:
        upstream.will(answer())
        server = await serve(
            "[[models]]\nname = 'SvcLLM'\nkind = 'text'\n"
            f"[[models.upstreams]]\nbase_url = '{upstream.url}'\nmodel = 'm'\n"
        )
        code, out, err = await run([*openapi_command(), server.ops_url, server.key])
    assert code == 0, err[-2000:]
    seen: dict[str, Any] = json.loads(out)
    assert seen["problems"] == []
    assert seen["models"] >= 1 and seen["by"] == ["model"] and seen["masked"] == "mail [REDACTED:EMAIL]"
    assert seen["answer"].startswith("chatcmpl-") and "resp_none" in seen["missing"] and seen["tools"] == ["tools"]
