"""Commands that ask a running gateway, run in this process: what they print, and their exit codes."""

import asyncio
import io
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from gateway.cli import main as entry
from tests.support.gateways import Gateway, Serve, upstream_toml
from tests.support.upstream import Upstream, answer, chunk, frame, stream, text_stream
from tests.support.used import use
from tests.support.websites import Site, serving

Output = pytest.CaptureFixture[str]

NOTE = {"type": "url_citation", "url_citation": {"url": "https://a.example/", "title": "A"}}


@pytest.fixture
async def gateway(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(upstream_toml(upstream.url))


@pytest.fixture
async def elsewhere() -> AsyncIterator[Site]:
    """A server that is no gateway."""
    site = Site()
    async with serving(site):
        yield site


async def run(where: Gateway | Site, command: str, *words: str) -> int:
    key = where.key if isinstance(where, Gateway) else "gw_none"
    return await asyncio.to_thread(entry.main, [command, "--url", where.url, "--key", key, *words])


async def test_a_stream_is_printed_with_its_sources(gateway: Gateway, upstream: Upstream, capsys: Output) -> None:
    *pieces, last = text_stream()
    upstream.will(stream(*pieces[:-2], chunk({"annotations": [NOTE]}), *pieces[-2:], last))
    assert await run(gateway, "chat", "--system", "Be brief.", "--max-tokens", "9", "hello") == 0
    assert capsys.readouterr().out.startswith("Hello there\n")
    assert upstream.last.body["max_tokens"] == 9 and upstream.last.body["messages"][0]["role"] == "system"


async def test_a_whole_answer_is_printed_as_json(gateway: Gateway, upstream: Upstream, capsys: Output) -> None:
    upstream.will(answer())
    assert await run(gateway, "chat", "--json", "hello") == 0
    assert '"content": "Hello there"' in capsys.readouterr().out


async def test_standard_input_is_the_question_and_an_empty_one_is_refused(
    gateway: Gateway, upstream: Upstream, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.will(stream(*text_stream()))
    monkeypatch.setattr("sys.stdin", io.StringIO("a question\n"))
    assert await run(gateway, "chat") == 0 and upstream.last.body["messages"][0]["content"] == "a question"
    monkeypatch.setattr("sys.stdin", io.StringIO(" \n"))
    assert await run(gateway, "chat", "-") == 1 and "there is no question" in capsys.readouterr().err


async def test_a_failure_midway_is_said_after_what_came(gateway: Gateway, upstream: Upstream, capsys: Output) -> None:
    upstream.will(stream(*text_stream()[:2], frame({"error": {"message": "out of memory"}})))
    assert await run(gateway, "chat", "hello") == 1
    out, err = capsys.readouterr()
    assert out.startswith("Hello") and err.startswith("gateway: ")
    upstream.will(answer({"error": {"message": "too much"}}, status=400))
    assert await run(gateway, "chat", "hello") == 1 and capsys.readouterr().err == "gateway: too much\n"


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b'data: {"x"\n\n', b"data: [1]\n\n", b"data: \xff\n\n"])
@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
async def test_another_server_is_named_as_such_and_never_ends_in_a_traceback(
    elsewhere: Site, body: bytes, kind: str, capsys: Output
) -> None:
    async def page(request: web.Request) -> web.Response:
        return web.Response(body=body, content_type=kind)

    elsewhere.pages["/v1/chat/completions"] = elsewhere.pages["/tools/websearch/mcp"] = page
    for command, *words in (["chat", "hello"], ["call", "search", "query=x"]):
        assert await run(elsewhere, command, *words) == 1
        err = capsys.readouterr().err
        assert "--url" in err or "try again" in err
    if body != b"[1]":
        assert await run(elsewhere, "chat", "--json", "hello") == 1
        assert "not that of a gateway" in capsys.readouterr().err


@pytest.mark.slow
async def test_tools_are_called_by_their_short_names(gateway: Gateway, capsys: Output) -> None:
    assert await run(gateway, "call", "search", "query=sea") == 0
    assert capsys.readouterr().out.startswith("nothing found")
    assert await run(gateway, "search", "sea") == 0
    assert capsys.readouterr().out.startswith("nothing found")
    assert await run(gateway, "call", "search", "--json", "query=sea") == 0, "pairs after options"
    assert '"success": true' in capsys.readouterr().out
    assert await run(gateway, "call", "status") == 0
    assert '"server_version"' in capsys.readouterr().out
    assert await run(gateway, "call", "extract", "urls=file:///etc/passwd") == 1
    assert "gateway: " in capsys.readouterr().err
    assert await run(gateway, "call", "nothing") == 1 and "gateway: " in capsys.readouterr().err


async def test_a_client_is_tried_in_steps(gateway: Gateway, upstream: Upstream, tmp_path: Path, capsys: Output) -> None:
    upstream.will(answer())
    (tmp_path / "key").write_text(gateway.key)
    words = ("client-config", "opencode", "--check", "--url", gateway.url, "--key-file", str(tmp_path / "key"))
    assert await asyncio.to_thread(entry.main, [*words, "--state-dir", str(tmp_path)]) == 0
    steps = capsys.readouterr().out.splitlines()
    assert len(steps) == 4 and all(step.startswith("ok ") for step in steps)
    assert await asyncio.to_thread(entry.main, [*words, "--model", "a/b", "--state-dir", str(tmp_path)]) == 1
    assert "the gateway has no such model; there are SvcLLM" in capsys.readouterr().out
    (tmp_path / "key").write_text("gw_wrong")
    assert await asyncio.to_thread(entry.main, [*words, "--state-dir", str(tmp_path)]) == 1
    assert "does not know this key" in capsys.readouterr().out


async def test_usage_is_printed_as_a_table_with_sums_and_as_lines(tmp_path: Path, capsys: Output) -> None:
    place = ("--state-dir", str(tmp_path))
    assert await asyncio.to_thread(entry.main, ["usage", *place]) == 0
    assert capsys.readouterr().out == "nothing was used\n"
    await use(tmp_path)
    assert await asyncio.to_thread(entry.main, ["usage", "--by", "key,tool", *place]) == 0
    head, first, second, last = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["key", "name", "tool"] and first.split()[:4] == ["k1", "-", "-", "2"]
    assert "1,700" in first and second.split()[2] == "websearch-search" and last.split()[0] == "all"
    assert await asyncio.to_thread(entry.main, ["usage", "--json", "--since", "2026-01-01", *place]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
