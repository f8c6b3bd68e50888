"""What `gateway serve` prints to try: commands that work as they are pasted, whose answers are about what was asked."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import start_process, upstream_toml

pytestmark = pytest.mark.slow

SEARXNG = '\n[search]\nprovider = "searxng"\nbase_url = "http://127.0.0.1:9"\n'
MODELS = upstream_toml("http://127.0.0.1:9/v1")
RUN_S = 120


async def printed(server: GatewayProcess) -> list[str]:
    """The commands, in the words of a shell where `gateway` is found."""
    await server.wait_for_text("Console, with that key")
    return re.findall(r"^  (gateway .*)$", server.printed(), re.MULTILINE)


def run(command: str) -> str:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-c", command], env={"PATH": path}, capture_output=True, text=True, timeout=RUN_S, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout


async def test_the_embedded_profile_reads_its_own_documentation_and_finds_the_answer_there(tmp_path: Path) -> None:
    async with start_process(tmp_path) as server:
        crawl, search = await printed(server)
        assert "\nThe guardrail is off: " in server.printed()
        assert f"url={server.ops_url}/docs/" in crawl
        assert "# Documentation of the gateway" in run(crawl)
        found = run(search)
        assert found.startswith("1. Keys and limits") and found.count(f"{server.ops_url}/docs/") == 3
        assert f"{server.ops_url}/\n" in server.printed(), "the console"


@pytest.mark.parametrize("toml", [MODELS, SEARXNG], ids=["models", "search"])
async def test_where_callers_may_not_read_the_documentation_a_public_address_is_printed(
    tmp_path: Path, toml: str
) -> None:
    async with start_process(tmp_path, toml) as server:
        crawl = next(command for command in await printed(server) if " crawl " in command)
        assert "url=https://example.com/ " in crawl
        assert ("The guardrail is off: " in server.printed()) is (toml == SEARXNG)
        assert f"{server.ops_url}/docs/" not in server.printed()
        public = re.escape("url=https://example.com/")
        assert "this address is not public" in refused(re.sub(public, f"url={server.ops_url}/docs/", crawl))


def refused(command: str) -> str:
    """What the command prints where it fails."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-c", command], env={"PATH": path}, capture_output=True, text=True, timeout=RUN_S, check=False
    )
    return done.stdout + done.stderr
