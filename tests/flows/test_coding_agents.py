"""Coding agents against a whole gateway: the model is scripted, the MCP server is the gateway's own."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support import upstream as up
from tests.support.asking import toml
from tests.support.gateways import Gateway, Serve
from tests.support.model_clients import agent
from tests.support.official import run
from tests.support.paths import GOLDEN
from tests.support.upstream import Upstream

pytestmark = [pytest.mark.slow, pytest.mark.system]

RUN_S = 90
KNOWN_MODEL = "gpt-5.5"
"""A name of a model for which Codex has data: only for such does it send custom tools and a tool search."""
EXEC = ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")


@pytest.fixture
async def server(serve: Serve, upstream: Upstream) -> Gateway:
    settings = toml(upstream, first_byte_timeout_s=20, idle_timeout_s=20)
    return await serve(settings.replace("'assistant'", f"'{KNOWN_MODEL}'"))


async def output_of(command: list[str], folder: Path, **environment: str) -> str:
    """What an agent prints; it gets a home of its own and nothing of this process's environment but the path."""
    code, out, err = await run(command, folder=folder, env={"HOME": str(folder), **environment})
    assert code == 0, (out + err)[-3000:]
    return out + err


def model(seen: list[Any], *turns: tuple[str, str]) -> up.Script:
    """A model that makes these calls, `(end of the tool's name, arguments)`, one a turn, and then says `All done.`.

    Requests without tools (titles, say) get a word. `seen` gets the requests with tools.
    """

    async def script(exchange: up.Exchange) -> None:
        body = exchange.seen.body
        names = [tool["function"]["name"] for tool in body.get("tools", ())]
        answered = sum(message["role"] == "tool" for message in body["messages"])
        if not names or answered >= len(turns):
            stream = up.text_stream(["All done."] if names else ["Title"])
        else:
            wanted, arguments = turns[answered]
            stream = up.call_stream(up.called(next(name for name in names if name.endswith(wanted)), arguments))
        if names:
            seen.append(body)
        await up.stream(*stream)(exchange)

    return script


def tool_results(body: Any) -> list[str]:
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def codex_home(folder: Path, server: Gateway, more: str = "", model_name: str = "SvcLLM") -> Path:
    home = folder / "codex"
    home.mkdir()
    (home / "config.toml").write_text(f"""
model = "{model_name}"
model_provider = "gateway"
model_context_window = 32000
[model_providers.gateway]
name = "gateway"
base_url = "{server.url}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
[mcp_servers.websearch]
url = "{server.url}/tools/websearch/mcp"
bearer_token_env_var = "GATEWAY_KEY"
{more}
""")
    return home


async def test_an_image_that_codex_looks_at_reaches_the_model(server: Gateway, tmp_path: Path) -> None:
    codex, seen = agent("@openai", "codex-*/vendor/*/bin/codex"), list[Any]()
    shutil.copy(GOLDEN / "ocr-sample.png", tmp_path / "a.png")
    server.upstream.will(model(seen, ("view_image", json.dumps({"path": str(tmp_path / "a.png")}))))
    home = codex_home(tmp_path, server)
    printed = await output_of([codex, *EXEC, "look"], tmp_path, CODEX_HOME=str(home), GATEWAY_KEY=server.key)
    assert "All done." in printed
    assert [message["role"] for message in seen[-1]["messages"][-3:]] == ["assistant", "tool", "user"]
    parts = seen[-1]["messages"][-1]["content"]
    assert parts[-1]["image_url"]["url"].startswith("data:image/")


async def test_codex_finds_a_deferred_tool_by_its_own_search_and_calls_it(server: Gateway, tmp_path: Path) -> None:
    codex, seen = agent("@openai", "codex-*/vendor/*/bin/codex"), list[Any]()
    server.upstream.will(model(seen, ("tool_search", '{"query":"search status"}'), ("search_status", "{}")))
    features = "[features]\ntool_search = true\ntool_search_always_defer_mcp_tools = true"
    home = codex_home(tmp_path, server, features, KNOWN_MODEL)
    printed = await output_of([codex, *EXEC, "check it"], tmp_path, CODEX_HOME=str(home), GATEWAY_KEY=server.key)
    assert "All done." in printed
    offered = [[tool["function"]["name"] for tool in body["tools"]] for body in seen]
    assert not any(name.endswith("search_status") for name in offered[0])
    assert any(name.endswith("search_status") for name in offered[1])
    assert "server_version" in tool_results(seen[-1])[1]


async def test_codex_applies_a_patch_that_the_model_writes_as_free_text(server: Gateway, tmp_path: Path) -> None:
    codex, seen = agent("@openai", "codex-*/vendor/*/bin/codex"), list[Any]()
    patch = "*** Begin Patch\n*** Add File: made.txt\n+“hello” 😀\n*** End Patch"
    server.upstream.will(model(seen, ("apply_patch", json.dumps({"input": patch}))))
    home = codex_home(tmp_path, server, "[features]\napply_patch_freeform = true", KNOWN_MODEL)
    printed = await output_of([codex, *EXEC, "make it"], tmp_path, CODEX_HOME=str(home), GATEWAY_KEY=server.key)
    assert "All done." in printed
    assert (tmp_path / "made.txt").read_text() == "“hello” 😀\n"
