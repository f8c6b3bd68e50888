"""What `gateway client-config` prints for Codex and opencode, put where it says, and the agents run with it."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.client_config import ClientSettings, client_text
from tests.flows.test_coding_agents import EXEC, model, output_of, server, tool_results
from tests.support.gateways import InProcessGateway
from tests.support.model_clients import agent
from tests.support.upstream import Upstream

pytestmark = [pytest.mark.slow, pytest.mark.system]
__all__ = ["server"]  # a fixture


def printed(name: str, gateway: InProcessGateway) -> str:
    return client_text(name, ClientSettings(gateway.url, "SvcLLM", 32_000, None))


async def test_codex_runs_with_what_is_printed(server: InProcessGateway, upstream: Upstream, tmp_path: Path) -> None:
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


async def test_opencode_runs_with_what_is_printed(server: InProcessGateway, upstream: Upstream, tmp_path: Path) -> None:
    opencode, seen = agent("opencode-linux-x64", "bin/opencode"), list[Any]()
    upstream.will(model(seen, ("search_status", "{}")))
    text = printed("opencode", server)
    document = text[text.index("\n{") : text.rindex("\n}") + 2]
    (tmp_path / "opencode.json").write_text(json.dumps({**json.loads(document), "autoupdate": False}))
    said = await output_of([opencode, "run", "check it"], tmp_path, GATEWAY_KEY=server.key)
    assert "All done." in said
    [result] = tool_results(seen[-1])
    assert "server_version" in result, result
