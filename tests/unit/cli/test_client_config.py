"""`gateway client-config`: what is printed for each client, and what `--check` finds in a running gateway."""

import json
import tomllib
from pathlib import Path

import pytest

from gateway.cli.client_config import CLIENTS, CheckPlan, ClientSettings, check, client_text
from gateway.cli.main import main
from tests.support import upstream as up
from tests.support.asking import toml
from tests.support.gateways import Gateway, Serve
from tests.support.paths import GOLDEN
from tests.support.upstream import Upstream

KEY = "gw_this_is_a_key"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gateway.toml").write_text((GOLDEN / "client_config.toml").read_text())
    (tmp_path / "dev-key").write_text(KEY + "\n")
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], folder: Path, name: str, *options: str) -> str:
    config = ["--config", str(folder / "gateway.toml"), "--state-dir", str(folder)]
    assert main(["client-config", name, *config, *options]) == 0
    return capsys.readouterr().out


def json_in(text: str) -> dict[str, object]:
    """The JSON document between the comments."""
    found: dict[str, object] = json.loads(text[text.index("\n{") : text.rindex("\n}") + 2])
    return found


@pytest.mark.parametrize("name", CLIENTS)
def test_each_text_has_the_address_and_the_place_of_the_key_but_not_the_key(
    capsys: pytest.CaptureFixture[str], folder: Path, name: str
) -> None:
    text = printed(capsys, folder, name)
    assert "http://127.0.0.1:8123/llm" in text and str(folder / "dev-key") in text
    assert KEY not in text and "@" not in text.replace("@ai-sdk", ""), text


@pytest.mark.parametrize("name", CLIENTS)
def test_without_a_file_the_variable_is_named(name: str) -> None:
    text = client_text(name, ClientSettings("http://g", "M", 0, None))
    assert "GATEWAY_KEY" in text and "context" not in text.lower().replace("tokens", "")


def test_the_documents_are_valid_and_tell_the_context_length(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    codex = tomllib.loads(printed(capsys, folder, "codex").split("# Then")[0])
    assert (codex["model"], codex["model_context_window"]) == ("Coder", 32768)
    for name in ("opencode", "opencode2"):
        assert '"limit": {"context": 32768, "output": 8192}' in json.dumps(json_in(printed(capsys, folder, name)))
    [endpoint] = json.loads("[" + printed(capsys, folder, "vscode").partition("\n[")[2])
    assert endpoint["models"][0]["contextWindow"] == 32768
    for name in ("claude-code", "cursor", "opencode", "opencode2", "vscode"):
        assert "http://127.0.0.1:8123/llm/tools/websearch/mcp" in json.dumps(json_in(printed(capsys, folder, name)))
    assert "CLAUDE_CODE_MAX_CONTEXT_TOKENS=32768" in printed(capsys, folder, "claude-code")


@pytest.mark.parametrize("name", ["opencode", "opencode2", "claude-code", "cursor", "vscode"])
def test_a_document_stays_valid_without_a_context_length(name: str) -> None:
    assert json_in(client_text(name, ClientSettings("http://g", "M", 0, None)))


def test_address_model_and_key_file_can_be_named(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "other").write_text(KEY)
    options = ["--url", "https://llm.example.org/", "--model", "Mine", "--key-file", str(folder / "other")]
    text = printed(capsys, folder, "curl", *options)
    assert '"https://llm.example.org/v1/models"' in text and '"model": "Mine"' in text and "other" in text


def test_a_key_file_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert main(["client-config", "curl", "--state-dir", str(folder), "--key-file", "/nowhere"]) == 1
    assert "/nowhere: no such file" in capsys.readouterr().err


def plan(server: Gateway, *interfaces: str, key: str | None = None, model: str = "SvcLLM") -> CheckPlan:
    key = server.key if key is None else key
    return CheckPlan(server.url, server.ops_url, key, "the key is in the file x", model, interfaces)


async def test_all_is_well_with_a_gateway_that_answers(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    results = await check(plan(server, "mcp", "chat", "messages", "responses"))
    assert [problem for _, problem in results] == [""] * 7


async def test_each_fault_is_told_with_its_remedy(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer({"error": "x"}, status=500))
    cases = [
        (plan(server, "mcp", key=""), "make one with `gateway keys create`"),
        (plan(server, "mcp", key="wrong"), "does not know this key (the key is in the file x)"),
        (plan(server, "mcp", model="Other"), "there are SvcLLM; choose one with --model"),
        (plan(server, "mcp", key=server.make_key("chat")), "lacks the scope web-search"),
        (plan(server, "responses", key=server.make_key("chat")), "--scope responses"),
        (plan(server, "chat"), "models.upstreams"),
        (CheckPlan("http://127.0.0.1:9", "", "k", "x", "M", ("chat",)), "nothing answers on http://127.0.0.1:9"),
    ]
    for each, words in cases:
        problems = [problem for _, problem in await check(each) if problem]
        assert len(problems) == 1 and words in problems[0], problems


async def test_a_server_that_is_no_gateway_is_told(serve: Serve, upstream: Upstream) -> None:
    server = await serve(toml(upstream))
    upstream.will(up.answer(b"<html>"))
    each = CheckPlan(upstream.url.removesuffix("/v1"), server.ops_url, "k", "x", "M", ("chat",))
    assert "is not a gateway's answer" in (await check(each))[-1][1]
