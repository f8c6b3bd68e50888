"""The official conformance suite, stable and newest build, against the whole gateway.

A scenario for servers is either run, and then each of its checks passes or stands in NOT_TESTABLE with a reason, or it
stands in NOT_FOR_US with a reason. One that a new build brings fails the completeness test until it is placed.
"""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from tests.support.gateways import Serve
from tests.support.key_adder import key_adder
from tests.support.official import MODULES, node, run
from tests.support.web_tools_site import PATH

pytestmark = [pytest.mark.slow, pytest.mark.system]

BUILDS = {
    "stable": MODULES / "conformance-stable" / "dist" / "index.js",
    "newest": MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js",
}
STABLE = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection", "server-sse-multiple-streams"]
NEWEST = [
    *((name, version) for name in ("server-initialize", "ping") for version in ("2025-06-18", "2025-11-25")),
    *(("tools-list", version) for version in ("2025-06-18", "2025-11-25", "2026-07-28")),
    *(("dns-rebinding-protection", version) for version in ("2025-11-25", "2026-07-28")),
    *(("server-sse-multiple-streams", version) for version in ("2025-11-25", "2026-07-28")),
    *(("server-session-lifecycle", version) for version in ("2025-03-26", "2025-06-18", "2025-11-25")),
    ("server-stateless", "2026-07-28"),
    ("caching", "2026-07-28"),
    ("http-header-validation", "2026-07-28"),
    ("input-required-result-unsupported-methods", "2026-07-28"),
]
NO_SUCH_TOOL = "needs a diagnostic tool that only test servers have"
NO_SUCH_FEATURE = "a tools-only server has no prompts, resources, completions, sampling, elicitation or logging"
NOT_TESTABLE = {
    "sep-2575-server-rejects-undeclared-capability": NO_SUCH_TOOL,
    "sep-2575-missing-capability-http-400": NO_SUCH_TOOL,
    "sep-2575-http-server-no-independent-requests-on-stream": NO_SUCH_TOOL,
    "sep-2575-server-no-log-without-loglevel": NO_SUCH_TOOL,
    "sep-2549-prompts-list-caching-hints": NO_SUCH_FEATURE,
    "sep-2549-resources-list-caching-hints": NO_SUCH_FEATURE,
    "sep-2549-resources-templates-list-caching-hints": NO_SUCH_FEATURE,
    "server-sse-multiple-streams-session": "warns that no session is issued: the server is stateless on purpose",
}
NOT_FOR_US = {
    r"tools-call-.*": NO_SUCH_TOOL,
    r"json-schema-2020-12": NO_SUCH_TOOL,
    r"(prompts|resources)-.*": NO_SUCH_FEATURE,
    r"completion-complete|logging-set-level|sep-2164-resource-not-found": NO_SUCH_FEATURE,
    r"elicitation-.*": NO_SUCH_FEATURE,
    r"input-required-result-(?!unsupported-methods).*": NO_SUCH_TOOL,
    r"server-sse-polling": NO_SUCH_TOOL,
    r"http-custom-header-server-validation": "no tool of ours mirrors an argument in a header",
    r"tasks-.*|sep-2640-.*": "an extension that is not offered",
}


@pytest.fixture
async def url(serve: Serve) -> AsyncIterator[str]:
    server = await serve("")
    async with key_adder(server.url + PATH, server.key) as proxied:
        yield proxied


async def checks(build: str, url: str, folder: Path, *options: str) -> list[dict[str, str]]:
    """What one scenario found; `options` as for the suite's `server` command."""
    _, out, err = await run([node(), str(BUILDS[build]), "server", "--url", url, *options, "-o", str(folder)])
    return reported(folder, out + err)


def reported(folder: Path, printed: str) -> list[dict[str, str]]:
    files = list(folder.rglob("checks.json"))
    assert len(files) == 1, printed
    found: list[dict[str, str]] = orjson.loads(files[0].read_bytes())
    return found


def assert_passed(found: list[dict[str, str]]) -> None:
    bad = [each for each in found if each["status"] in ("FAILURE", "WARNING") and each["id"] not in NOT_TESTABLE]
    assert bad == []
    assert any(each["status"] in ("SUCCESS", "INFO", "WARNING") for each in found)


@pytest.mark.parametrize("scenario", STABLE)
async def test_the_stable_suite_passes(url: str, tmp_path: Path, scenario: str) -> None:
    assert_passed(await checks("stable", url, tmp_path / "out", "--scenario", scenario))


@pytest.mark.parametrize(("scenario", "version"), NEWEST)
async def test_the_newest_suite_passes(url: str, tmp_path: Path, scenario: str, version: str) -> None:
    options = ("--scenario", scenario, "--spec-version", version)
    assert_passed(await checks("newest", url, tmp_path / "out", *options))


@pytest.mark.parametrize("build", ["stable", "newest"])
async def test_every_scenario_for_servers_is_run_or_has_a_reason(build: str) -> None:
    code, out, err = await run([node(), str(BUILDS[build]), "list"])
    assert code == 0, err
    listed = re.findall(r"^  - (\S+)", out.partition("Server scenarios")[2].partition("\n\n")[0], re.MULTILINE)
    ours = set(STABLE) if build == "stable" else {name for name, _ in NEWEST}
    placed = [name for name in listed if name in ours or any(re.fullmatch(each, name) for each in NOT_FOR_US)]
    assert len(listed) > 20 and listed == placed
