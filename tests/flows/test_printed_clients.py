"""What `gateway client-config` prints for Codex and opencode, put where it says, and the agents run with it."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.client_config import ClientSettings, client_text
from tests.flows.test_coding_agents import EXEC, model, output_of, server, tool_results
from tests.support import upstream as up
from tests.support.asking import toml
from tests.support.gateways import Gateway, Serve
from tests.support.model_clients import agent
from tests.support.upstream import Exchange, Upstream

pytestmark = [pytest.mark.slow, pytest.mark.system]
__all__ = ["server"]  # a fixture
WORDS = ("search", "extract", "crawl", "map", "search_status")


def printed(name: str, gateway: Gateway) -> str:
    return client_text(name, ClientSettings(gateway.url, "SvcLLM", 32_000, None))


async def test_codex_runs_with_what_is_printed(server: Gateway, upstream: Upstream, tmp_path: Path) -> None:
    codex, seen = agent("@openai", "codex-*/vendor/*/bin/codex"), list[Any]()
    upstream.will(model(seen, ("search_status", "{}")))
    home = tmp_path / "codex"
    home.mkdir()
    (home / "config.toml").write_text(printed("codex", server).split("# Then")[0])
    said = await output_of([codex, *EXEC, "check it"], tmp_path, CODEX_HOME=str(home), GATEWAY_KEY=server.key)
    assert "All done." in said
    [result] = tool_results(seen[-1])
    assert "server_version" in result, result
    assert all("client_metadata" not in body for body in seen)
    names = [tool["function"]["name"] for tool in seen[0]["tools"]]
    assert sum(name.startswith("mcp__websearch__") for name in names) == 5
    requests = [line for line in server.log_text().splitlines() if '"endpoint":"responses"' in line.replace(" ", "")]
    assert requests and all('"WS"' in line for line in requests)  # over one socket, without a retry


async def test_the_tools_of_codex_keep_their_names_before_a_native_upstream(serve: Serve, tmp_path: Path) -> None:
    """Codex asks for web search in each request: where the gateway runs it, the request goes by chat."""
    codex, seen = agent("@openai", "codex-*/vendor/*/bin/codex"), list[Any]()

    async def script(exchange: Exchange) -> None:
        """A model that calls a web tool by the name and namespace that it has been told."""
        body = exchange.seen.body
        seen.append(body)
        outputs = [item for item in body["input"] if item.get("type") == "function_call_output"]
        item: Any = "All done."
        if not outputs:
            named = {"namespace": "mcp__websearch", "name": "websearch_search_status"}
            item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "arguments": "{}", **named}
        await up.stream(*up.response_stream(up.response(item)))(exchange)

    serve.upstream.will(script)
    server = await serve(toml(serve.upstream, responses="'native'") + "[hosted_search]\nnative = 'upstream'\n")
    home = tmp_path / "codex"
    home.mkdir()
    (home / "config.toml").write_text(printed("codex", server).split("# Then")[0])
    said = await output_of([codex, *EXEC, "check it"], tmp_path, CODEX_HOME=str(home), GATEWAY_KEY=server.key)
    assert "All done." in said
    [group] = [tool for tool in seen[0]["tools"] if tool.get("name") == "mcp__websearch"]
    assert {f"websearch_{word}" for word in WORDS} == {tool["name"] for tool in group["tools"]}
    [output] = [item["output"] for item in seen[-1]["input"] if item.get("type") == "function_call_output"]
    assert "server_version" in str(output)


async def test_opencode_runs_with_what_is_printed(server: Gateway, upstream: Upstream, tmp_path: Path) -> None:
    opencode, seen = agent("opencode-linux-x64", "bin/opencode"), list[Any]()
    upstream.will(model(seen, ("search_status", "{}")))
    text = printed("opencode", server)
    document = text[text.index("\n{") : text.rindex("\n}") + 2]
    (tmp_path / "opencode.json").write_text(json.dumps({**json.loads(document), "autoupdate": False}))
    said = await output_of([opencode, "run", "check it"], tmp_path, GATEWAY_KEY=server.key)
    assert "All done." in said
    [result] = tool_results(seen[-1])
    assert "server_version" in result, result
