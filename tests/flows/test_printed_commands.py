"""What `gateway serve` prints to try: commands that work as they are pasted, whose answers are about what was asked."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import upstream as up
from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import start_process, upstream_toml
from tests.support.upstream import Upstream

pytestmark = pytest.mark.slow

SEARXNG = '\n[search]\nprovider = "searxng"\nbase_url = "http://127.0.0.1:9"\n'
MODELS = upstream_toml("http://127.0.0.1:9/v1")
TAVILY = '\n[web]\nengine = "provider"\n[search]\nprovider = "tavily"\napi_key = { credential = "tavily" }\n'
RUN_S = 120


async def printed(server: GatewayProcess) -> list[str]:
    """The commands, in the words of a shell where `gateway` is found."""
    await server.wait_for_text("Console, with that key")
    return re.findall(r"^  (.*\bgateway .*)$", server.printed(), re.MULTILINE)


def run(command: str, fails: bool = False) -> str:
    """What the command prints; where it fails, on either way."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-c", command], env={"PATH": path}, capture_output=True, text=True, timeout=RUN_S, check=False
    )
    assert fails or not done.stderr, done.stderr
    return done.stdout + done.stderr


async def test_what_is_printed_first_reads_pages_pictures_and_texts_that_are_there(tmp_path: Path) -> None:
    async with start_process(tmp_path) as server:
        extract, search, ocr, sanitize = await printed(server)
        assert "\nThe guardrail is off: " in server.printed()
        assert f"urls={server.ops_url}/docs/keys-and-limits" in extract
        assert "# Keys and limits" in run(extract)
        assert re.match(rf"1\. Keys and limits  \(0\.\d+\)\n   {server.ops_url}/docs/keys-and-limits\n", run(search))
        assert "# Harbour Street Stationers" in run(ocr)
        assert "Mail [REDACTED:EMAIL], card [REDACTED:CREDIT_CARD]" in run(sanitize)
        assert f"{server.ops_url}/\n" in server.printed(), "the console"


@pytest.mark.parametrize("toml", [MODELS, SEARXNG], ids=["models", "search"])
async def test_the_documentation_is_read_beside_models_and_a_search_provider_of_ones_own_and_nothing_else_there(
    tmp_path: Path, toml: str
) -> None:
    async with start_process(tmp_path, toml) as server:
        extract, *_, chat = await printed(server)
        assert "# Keys and limits" in run(extract)
        assert (" chat " in chat) is (toml == MODELS) and "135 million" not in server.printed()
        assert ("The guardrail is off: " in server.printed()) is (toml == SEARXNG)
        assert "this address is not public" in run(extract.replace("/docs/keys-and-limits", "/metrics"), fails=True)


async def test_where_a_provider_reads_pages_a_public_address_is_printed(tmp_path: Path) -> None:
    async with start_process(tmp_path, TAVILY, variables={"GATEWAY_CREDENTIAL_TAVILY": "tvly-x"}) as server:
        extract = (await printed(server))[0]
        assert "urls=https://example.com/ " in extract and f"{server.ops_url}/docs/" not in server.printed()


async def test_one_line_serves_the_one_model_of_an_upstream_and_prints_the_same_as_configuration(
    tmp_path: Path, upstream: Upstream
) -> None:
    upstream.will(up.answer({"data": [{"id": 'own "1"'}]}), up.answer())
    key = {"GATEWAY_CREDENTIAL_UPSTREAM": "sk-upstream-secret"}
    (tmp_path / "line").mkdir()
    options = ("--upstream", f"{upstream.url}/", "--supervised")
    async with start_process(tmp_path / "line", options=options, variables=key) as line:
        assert (await line.chat())[0] == 200
        line.send(signal.SIGHUP)
        await line.wait_for_event("reloaded")
        assert (await line.chat())[0] == 200 and 'SvcLLM would: [guardrail] enabled = "auto"' in line.printed()
        tables = line.printed().partition("--config:\n\n")[2].partition("\n\n\n")[0]
        assert "sk-upstream-secret" not in line.output()
    async with start_process(tmp_path, f"\n{tables}\n", variables=key) as file:
        assert (await file.chat())[0] == 200 and "The guardrail is off: " in file.printed()
    asked = [seen for seen in upstream.seen if seen.method == "POST"]
    assert [seen.body["model"] for seen in asked] == ['own "1"'] * 3
    assert {seen.headers["authorization"] for seen in upstream.seen} == {"Bearer sk-upstream-secret"}
    assert 'enabled = "off"   # "auto" turns it on' in tables
