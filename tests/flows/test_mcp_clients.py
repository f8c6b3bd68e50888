"""The official clients against the web-tools path: two SDKs in two major lines each, every era they speak."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.official import MODULES, client_command, node, run, run_client
from tests.support.web_tools_site import WebToolsSite, web_tools_site

URL = "https://example.com/"
TOOLS = [f"websearch-{word}" for word in ("search", "extract", "crawl", "map", "search_status")]
GOOD: dict[str, dict[str, Any]] = {
    "websearch-search": {"query": "x", "max_results": 3},
    "websearch-extract": {"urls": [URL]},
    "websearch-crawl": {"url": URL},
    "websearch-map": {"url": URL},
    "websearch-search_status": {},
}
pytestmark = pytest.mark.slow


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[WebToolsSite]:
    async with web_tools_site(tmp_path) as running:
        yield running


@pytest.mark.parametrize(
    ("client", "mode", "protocol"),
    [
        pytest.param("python1", "", "2025-11-25", marks=pytest.mark.system),
        ("python2", "legacy", "2025-11-25"),
        ("python2", "auto", "2026-07-28"),
        ("python2", "2026-07-28", "2026-07-28"),
        pytest.param("sdk1", "", "2025-11-25", marks=pytest.mark.system),
        pytest.param("sdk2", "legacy", "2025-11-25", marks=pytest.mark.system),
        pytest.param("sdk2", "auto", "2026-07-28", marks=pytest.mark.system),
    ],
)
async def test_an_official_client_connects_lists_and_calls_all_five_tools_well_and_ill(
    site: WebToolsSite, client: str, mode: str, protocol: str
) -> None:
    calls: list[dict[str, Any]] = [{"name": name, "arguments": given} for name, given in GOOD.items()]
    calls += [{"name": name, "arguments": {"nonsense": 1}} for name in GOOD]
    calls += [
        {"name": "websearch-crawl", "arguments": {"url": URL}, "progress": True},
        {"name": "websearch-search", "arguments": {"query": "fail"}},
        {"name": "websearch-nope", "arguments": {}},
    ]
    plan = {"url": site.url, "key": site.key, "mode": mode, "calls": calls}
    report = await run_client(client_command(client), plan)
    assert report["protocol"] == protocol and report["tools"] == TOOLS
    assert report["server"] == (None if mode == "2026-07-28" else "gateway")
    *tool_answers, with_progress, failed, unknown = report["answers"]
    for answer, wrong in zip(tool_answers, [False] * 5 + [True] * 5, strict=True):
        assert answer["isError"] is wrong
        assert orjson.loads(answer["text"]) == answer["structured"] and answer["structured"]["success"] is not wrong
    assert all("nonsense" in answer["text"] for answer in tool_answers[5:])
    steps = with_progress["steps"]
    assert steps and steps == sorted(set(steps)) and with_progress["isError"] is False
    assert failed["isError"] and failed["structured"]["data"]["error"]["retry_after_s"] == 7
    assert unknown["code"] == -32602


@pytest.mark.parametrize(
    "client", ["python2", *(pytest.param(name, marks=pytest.mark.system) for name in ("python1", "sdk1", "sdk2"))]
)
async def test_an_official_client_with_a_wrong_key_fails_to_connect(site: WebToolsSite, client: str) -> None:
    plan = {"url": site.url, "key": "wrong", "mode": "auto", "calls": []}
    code, out, _ = await run([*client_command(client)], orjson.dumps(plan))
    assert code != 0 and out == ""


async def inspect(site: WebToolsSite, *options: str) -> tuple[int, Any, str]:
    binary = MODULES / ".bin" / "mcp-inspector"
    header = f"Authorization: Bearer {site.key}"
    command = [node(), str(binary), "--cli", site.url, "--transport", "http", "--header", header, *options]
    code, out, err = await run(command)
    return code, orjson.loads(out) if out.strip() else None, err


@pytest.mark.system
async def test_the_inspector_lists_the_tools_and_finds_nothing_unportable(site: WebToolsSite) -> None:
    code, listed, err = await inspect(site, "--method", "tools/list", "--strict")
    assert code == 0, err
    assert [tool["name"] for tool in listed["tools"]] == TOOLS
    assert "Issue:" not in err, err


@pytest.mark.system
async def test_the_inspector_calls_a_tool_with_its_arguments_as_words(site: WebToolsSite) -> None:
    arguments = ["query=x", "max_results=3", "include_images=true"]
    tool = ("--tool-name", "websearch-search", "--tool-arg", *arguments)
    code, told, err = await inspect(site, "--method", "tools/call", *tool)
    assert code == 0 and told["isError"] is False, err
    request = site.tools.seen[0][1]
    assert (request.query, request.max_results, request.include_images) == ("x", 3, True)
