"""Every file of `examples/` does what it says against a running gateway with the embedded engines."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import NEEDS_MODEL, start_process
from tests.support.model_clients import openai_js_command, python_of
from tests.support.ocr_running import SAMPLE
from tests.support.official import run
from tests.support.paths import ROOT
from tests.support.upstream import answer, scripted_upstream

EXAMPLES = ROOT / "examples"
RUN_S = 180

pytestmark = [pytest.mark.system, *NEEDS_MODEL]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """One for all examples: its models take seconds to load."""
    with start_process(tmp_path_factory.mktemp("examples"), embedded=True) as gateway:
        yield gateway


async def run_example(gateway: GatewayProcess, command: list[str], **more: str) -> str:
    variables = {
        "HOME": os.environ.get("HOME", "/"), "GATEWAY_URL": gateway.url, "GATEWAY_KEY": gateway.key,
        "PAGE": f"{gateway.ops_url}/docs/keys-and-limits", **more,
    }  # fmt: skip
    code, out, err = await run(command, limit_s=RUN_S, env=variables)
    assert code == 0, (out[-1500:], err[-1500:])
    return out


async def test_calls_with_curl(gateway: GatewayProcess) -> None:
    out = await run_example(gateway, ["sh", str(EXAMPLES / "calls.sh")])
    for sign in ('"id":"SvcLLM"', '"object":"chat.completion"', '"object":"response"', '"type":"message"'):
        assert sign in out, sign
    assert "Keys and limits" in out


@pytest.mark.parametrize("name", ["chat.py", "web_search.py", "mcp_tools.py", "read_picture.py"])
async def test_a_python_example(gateway: GatewayProcess, name: str) -> None:
    if name == "web_search.py":
        await run_example(gateway, [sys.executable, str(EXAMPLES / "mcp_tools.py")])  # something to search in
    out = await run_example(gateway, [sys.executable, str(EXAMPLES / name), str(SAMPLE)])
    signs = {
        "chat.py": ("\n",),
        "web_search.py": ("searched:", "read: http"),
        "mcp_tools.py": ("websearch-crawl", "read: Keys and limits", "found: "),
        "read_picture.py": ("title at [[", "Harbour Street Stationers"),
    }
    for sign in signs[name]:
        assert sign in out, out


async def test_the_javascript_example(gateway: GatewayProcess) -> None:
    out = await run_example(gateway, openai_js_command(EXAMPLES / "chat.mjs"))
    assert "resp_" in out


async def test_the_agent(tmp_path: Path) -> None:
    """Its model must be able to call tools, so a scripted one stands behind the gateway."""
    interpreter = python_of("clients")
    async with scripted_upstream() as upstream:
        upstream.will(answer())
        toml = f'[[models]]\nname = "SvcLLM"\n[[models.upstreams]]\nbase_url = "{upstream.url}"\nmodel = "m"\n'
        async with start_process(tmp_path, toml) as gateway:
            out = await run_example(gateway, [interpreter, str(EXAMPLES / "agent.py")])
        tools = {tool["function"]["name"] for tool in upstream.last.body["tools"]}
    assert "Hello there" in out and "websearch-search" in tools


@pytest.mark.parametrize("name", ["calls.sh", "chat.py", "web_search.py", "mcp_tools.py", "read_picture.py"])
@pytest.mark.parametrize("key", [None, "gw_wrong"], ids=["server away", "wrong key"])
def test_an_example_that_cannot_work_says_why_without_a_traceback(
    gateway: GatewayProcess, name: str, key: str | None
) -> None:
    url = gateway.url if key else "http://127.0.0.1:9"
    environment = {"PATH": os.environ["PATH"], "GATEWAY_URL": url, "GATEWAY_KEY": key or gateway.key}
    program = "sh" if name.endswith(".sh") else sys.executable
    words = [program, str(EXAMPLES / name), *([str(SAMPLE)] if name == "read_picture.py" else [])]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=RUN_S, check=False)
    told = done.stdout + done.stderr
    assert done.returncode != 0 and "Traceback" not in told
    assert ("not valid" in told or "401" in told) if key else re.search("connect", told, re.IGNORECASE), told


def test_every_example_is_run_here_and_told_in_the_readme() -> None:
    told, source = (EXAMPLES / "README.md").read_text(), Path(__file__).read_text()
    for path in EXAMPLES.iterdir():
        if path.name != "README.md":
            assert re.search(rf"`{path.name}[` ]", told) and f'"{path.name}"' in source, path.name
