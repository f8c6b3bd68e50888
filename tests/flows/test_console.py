"""The console in a real browser against a running gateway: each tab does its job, nothing of an answer becomes code.

`CONSOLE_PICTURES=docs/pictures` makes the pictures of the documentation anew.
"""

import asyncio
import itertools
import json
import math
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.embedded.servers import Embedded
from gateway.shared_state.sqlite_state import StateFile
from gateway.web.history import History
from tests.support.asking import ASK, CHAT, send, toml
from tests.support.gateways import Gateway, Serve, engine_at
from tests.support.hosted_search import chat, round_of, scene, search
from tests.support.model_clients import console_command
from tests.support.ocr_running import SAMPLE
from tests.support.official import run
from tests.support.paths import ROOT
from tests.support.upstream import Upstream, answer, completion, scripted_upstream, stream, text_stream
from tests.support.websites import Site, serving

HOSTILE = (
    "The **harbour tax** is 5 %.\n\n<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\n\n"
    "[read](javascript:window.hacked=1) ![p](https://evil.example/pixel.png) [ok](https://example.com/a)\n\n"
    "| a | b |\n|---|---|\n| <svg onload=alert(1)> | 2 |\n"
)
TITLE = "<img src=x onerror=window.hacked=1>"
PAGE = (
    f"<!doctype html><title>{TITLE.replace('<', '&lt;')}</title><h1>Tides</h1>"
    f"<p>{'High water is at noon on most days of the month. ' * 12}</p>"
)
FAULT = {"key": "agent", "method": "POST", "status": 429, "outcome": "refused", "code": "rate_limit_exceeded"}
MAX_BYTES = 150_000
"""What the page may weigh, all its files together."""


async def in_browser(part: str, server: Gateway, key: str = "", **plan: Any) -> dict[str, Any]:
    """What the function `part` of `console.mjs` saw of `server`; `plan`: what it needs beside its address and key."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed: the console is not tried in a browser")
    plan |= {"part": part, "url": server.ops_url, "key": key or server.key, "chromium": browser}
    plan["shots"] = os.environ.get("CONSOLE_SHOTS", "")  # a folder, for who wants to look
    code, out, err = await run(console_command(), json.dumps(plan).encode(), limit_s=240)
    assert code == 0, err[-3000:]
    report: dict[str, Any] = json.loads(out)
    return report


def configuration(upstream: Upstream, site: Site) -> str:
    return (
        f"[web]\nallow_private = ['{site.address}']\n[[models]]\nname = 'SvcLLM'\nkind = 'text'\n"
        f"[[models.upstreams]]\nbase_url = '{upstream.url}'\nmodel = 'm'\n"
    )


def embedded_ocr(url: str) -> Embedded:
    return Embedded(ocr=engine_at(f"{url}/v1", "embedded-ocr"))


@pytest.mark.system
async def test_the_pictures_of_the_documents_are_made(serve: Serve, ocr_url: str, tmp_path: Path) -> None:
    folder = ROOT / os.environ["CONSOLE_PICTURES"] if "CONSOLE_PICTURES" in os.environ else tmp_path
    more = (
        "[limits]\ntokens_per_day = 20000\ntool_calls_per_day = 4\n"
        "[sanitize]\nroutes = ['websearch', 'chat', 'responses']\n[[models]]\nname = 'SvcOCR'\nkind = 'ocr'\n"
        f"[[models.upstreams]]\nbase_url = '{ocr_url}/v1'\nmodel = 'deepseek-ai/DeepSeek-OCR'\n"
    )
    async with scripted_upstream() as broken, scene(serve, more, before=[broken]) as on:
        broken.will(answer({"error": {"message": "boom"}}, status=500))
        on.model.will(round_of(search()), round_of("The capital of France is **Paris** [1], not Nice [3]."))
        await an_hour_of_requests(on.server)
        await in_browser("pictures", on.server, picture=str(SAMPLE), pictures=str(folder))
    told = "".join((ROOT / name).read_text() for name in ("README.md", "docs/console.md"))
    made = {path.name for path in folder.glob("*.png") if not path.name.startswith("ocr-")}
    assert made == set(re.findall(r"pictures/([a-z-]+\.png)", told))


async def an_hour_of_requests(server: Gateway) -> None:
    """What another process of `server` has written."""
    now, path = time.time(), server.config.state_dir / "state.sqlite3"
    file = StateFile(path)
    clock: Iterator[float] = itertools.repeat(now)
    history = History(file, path, lambda: next(clock))
    history.start()
    for minute in range(60):
        clock = itertools.repeat(now - 3600 + 60 * minute)
        number = 18 + minute % 7 + round(8 * math.sin(minute / 8))
        kinds = [(200, "", 0.4 + 0.01 * minute, 900, 350)] * number + [(429, "", 0.002, 0, 0)] * (minute % 5 == 0)
        faults = [{**FAULT, "total_ms": 2, "request_id": f"req_{minute}", "endpoint": "chat"}] * (minute % 5 == 0)
        history.add(kinds + [(502, "", 3.1, 0, 0)] * (minute % 11 == 0), faults)
        history.add_gauges(cpu_ms=number * 60, memory_kb=90_000, in_flight=2, seconds=60)
    await history.close()
    await file.close()


@pytest.mark.system
async def test_every_tab_does_its_job_and_nothing_of_an_answer_becomes_code(serve: Serve, ocr_url: str) -> None:
    async with scripted_upstream() as upstream, serving(Site({"/tides": PAGE})) as site:
        upstream.will(answer({"error": {"message": f"no such model {TITLE}"}}, status=404),
                      stream(*text_stream((HOSTILE[:21], HOSTILE[21:]))))  # fmt: skip
        gone = f"[[models]]\nname = 'Gone'\n[[models.upstreams]]\nbase_url = '{upstream.url}'\nmodel = 'm'\n"
        server = await serve(configuration(upstream, site) + gone, embedded_ocr(ocr_url))
        body = {"model": "Gone", "messages": [{"role": "user", "content": "hi"}]}
        assert (await send(server, CHAT, body))[0] == 502
        await send(server, CHAT, {"model": "SvcLLM"})
        alone = await serve("")  # without models of its own
        beside = {"url": alone.ops_url, "key": alone.key}
        report = await in_browser("tabs", server, site=f"{site.url}/tides", picture=str(SAMPLE), alone=beside)

    assert report["console"] == [] and report["outside"] == []
    assert not report["hacked"] and report["dialogs"] == 0
    assert report["axe"] == []
    assert report["bytes"] < MAX_BYTES
    assert report["keyboard"] == ["tab-status", False]
    assert "not valid" in report["bare"] and report["bareTabs"] == 0
    tabs = report["tabs"]
    assert "invalid_value" in tabs["errors"]
    assert "Median answer" in tabs["status"] and "search provider" in tabs["status"] and "SvcLLM" in tabs["status"]
    assert "Gone upstream-1 failed last never" in tabs["status"] and "SvcLLM upstream-1 not called" in tabs["status"]
    assert f"status 404: no such model {TITLE} 1 1" in tabs["status"]
    chat = tabs["try"]["chat"]
    assert "<strong>harbour tax</strong>" in chat and "&lt;script&gt;" in chat and "<img" not in chat
    assert 'href="https://example.com/a"' in chat and "javascript:" not in chat.replace('title="javascript:', "")
    assert "<td>&lt;svg onload=alert(1)&gt;</td>" in chat
    assert "$GATEWAY_KEY" in tabs["try"]["curl"] and server.key not in tabs["try"]["curl"]
    assert "&lt;img src=x" in tabs["try"]["tool"] and "High water" in tabs["try"]["tool"]
    ocr = tabs["ocr"]
    assert ocr["boxes"] > 5 and ocr["marked"] == 1 and ocr["focused"] == "block-2" and ocr["tables"] == 1
    assert "Harbour Street Stationers" in ocr["text"] and "Copy paper A4" in ocr["text"]
    assert tabs["sanitize"]["marks"][0].partition("\n")[0].replace("EMAIL", "") == "jane.roe@corporation.com"
    assert "[REDACTED:EMAIL]" in tabs["sanitize"]["request"] and "😀" in tabs["sanitize"]["request"]
    assert tabs["sanitize"]["state"] == "" and report["alone"].startswith("The guardrail is off: ")
    assert tabs["keys"]["made"].startswith("gw_") and "in use here" in tabs["keys"]["list"]
    assert "SvcLLM" in tabs["usage"] or "Nothing was used" in tabs["usage"]
    assert "websearch-extract" in tabs["logs"] and "POST websearch 200 ok" in re.sub(r"\s+", " ", tabs["logs"])
    assert "harbour tax" not in server.log_text()


@pytest.mark.system
async def test_every_page_fits_a_desk_and_a_phone_in_both_colours_and_can_be_used_by_all(
    serve: Serve, ocr_url: str
) -> None:
    async with scripted_upstream() as upstream, serving(Site({"/tides": PAGE})) as site:
        upstream.will(stream(*text_stream((HOSTILE,))))
        server = await serve(configuration(upstream, site), embedded_ocr(ocr_url))
        await send(server, CHAT, {"model": "SvcLLM"})
        report = await in_browser("widths", server, site=f"{site.url}/tides", picture=str(SAMPLE))
    assert report["console"] == []
    assert report["axe"] == []


@pytest.mark.system
async def test_a_console_that_is_looked_at_leaves_no_trace_in_figures_logs_and_budgets(serve: Serve) -> None:
    server = await serve("[[models]]\nname = 'SvcLLM'\n[[models.upstreams]]\nbase_url = 'http://127.0.0.1:9'\n")
    key = server.make_key("admin", "web-search", per_minute=1, concurrent=1)
    report = await in_browser("quiet", server, key)
    assert report["console"] == [] and report["figures"].startswith("Requests\n0\n")
    assert report["logs"] == "No request yet."
    assert '"request"' not in server.log_text()
    _, usage, _ = await send(server, server.ops_url + "/api/admin/usage", method="GET")
    assert usage["rows"] == []
    _, text, _ = await send(server, server.ops_url + "/metrics", method="GET")
    counted = [line for line in text.splitlines() if re.match(r"gateway_(requests|tool_calls)_total\{", line)]
    assert counted and all('endpoint="admin"' in line for line in counted)


@pytest.mark.system
async def test_failures_are_shown_by_code_and_lead_to_their_requests(serve: Serve) -> None:
    async with scripted_upstream() as upstream:
        upstream.will(answer({"error": {"message": "boom"}}, status=500))
        server = await serve(toml(upstream))
        for _ in range(3):
            assert (await send(server, CHAT, {"model": "SvcLLM"}))[0] == 400
        assert (await send(server, CHAT, ASK, key=server.make_key("ocr")))[0] == 403
        assert (await send(server, CHAT, ASK))[0] == 502
        assert (await send(server, CHAT, {**ASK, "stream": True}))[0] == 502
        upstream.will(stream(text_stream()[0]))
        assert (await send(server, CHAT, {**ASK, "stream": True}))[0] == 200
        for _ in range(5):
            await send(server, "/v1/models", method="GET")
        report = await in_browser("errors", server)
    assert report["console"] == []
    rows = {tuple(row.split("\t")) for row in report["before"].splitlines()}
    assert {row[:4] for row in rows} == {
        ("chat", "400", "invalid_value", "3"), ("chat", "403", "insufficient_scope", "1"),
        ("chat", "502", "upstream_error", "2"), ("chat", "200", "upstream_error", "1"),
    }  # fmt: skip
    assert report["address"] == "#logs?range=24h&endpoint=chat&code=invalid_value"
    assert "invalid_value" in report["story"]


@pytest.mark.system
async def test_a_request_is_shown_as_a_tree_of_attempts_rounds_tools_and_masks(serve: Serve) -> None:
    more = "[sanitize]\nroutes = ['websearch', 'chat']\n"
    async with scripted_upstream() as broken, scene(serve, more, before=[broken]) as on:
        broken.will(answer({"error": {"message": "boom"}}, status=500))
        on.model.will(round_of(search("harbour")), round_of("It is Paris [1]."))
        await chat(on, messages=[{"role": "user", "content": "I am jane.roe@corporation.com. Which is the capital?"}])
        report = await in_browser("tree", on.server)
    assert report["console"] == []
    times = re.compile(r" [\d,.]+ ms")
    assert [times.sub(" T", line) for line in report["lines"]] == [
        "POST chat 200 ok T", "masked EMAIL 1", "round 1", "SvcLLM at upstream-1 upstream_error T",
        "SvcLLM at upstream-2 ok T", "web_search search completed T", "round 2",
        "SvcLLM at upstream-1 upstream_error T", "SvcLLM at upstream-2 ok T", "the gateway itself T",
    ]  # fmt: skip
    assert "jane" not in on.server.log_text() and "harbour" not in on.server.log_text()


@pytest.mark.system
async def test_a_conversation_has_pictures_citations_and_second_answers(serve: Serve) -> None:
    more = "[ops]\nport = 9499\n"
    async with scene(serve, more) as on:
        on.model.will(round_of(search()), round_of("It is Paris [1]."), round_of("It is Lyon."))
        report = await in_browser("talk", on.server, picture=str(SAMPLE))
    assert report["console"] == []
    for words in ("'http://127.0.0.1:8080/v1/responses'", "data:image/png;base64,iVBORw0KGgo"):
        assert words in report["code"]
    assert len(report["code"]) < 1000, "a picture is shown by its beginning"
    assert report["cited"] == [["[1]", "https://a.example.com/paris"]]
    assert report["copied"] == "It is Paris [1]."
    assert (report["turns"], report["pictures"]) == (2, 1)
    first, *rest = on.sent[-1]["messages"]
    assert [part["type"] for part in first["content"]] == ["text", "image_url"]
    assert [(each["role"], each["content"]) for each in rest] == [("assistant", "It is Lyon."), ("user", "And then?")]


@pytest.mark.system
async def test_a_key_is_changed_and_its_budgets_are_bars_of_use(serve: Serve) -> None:
    async with scripted_upstream() as upstream:
        upstream.will(answer(completion()))
        server = await serve(toml(upstream) + "[limits]\ntool_calls_per_day = 40\n")
        wish = {"name": "day-agent", "scopes": ["chat"], "per_minute": 50, "tokens_per_day": 4000, "expires_days": 3}
        key = (await send(server, server.ops_url + "/api/admin/keys", wish))[1]["key"]
        for _ in range(3):
            assert (await send(server, CHAT, ASK, key=key))[0] == 200
        async with asyncio.timeout(20):
            while not (await send(server, server.ops_url + "/api/admin/usage", method="GET"))[1]["rows"]:
                pass  # it is written every five seconds
        report = await in_browser("edit", server, name="day-agent")
        _, told, _ = await send(server, server.ops_url + "/api/admin/keys", method="GET")
    assert report["console"] == []
    bars = [" ".join(each.split()) for each in report["bars"]]
    assert bars == ["tokens today 15 of 4,000", "tool calls today 0 of 40"]
    assert report["values"] == {"focus": "day-agent", "scopes": ["chat"], "minute": "50"}
    changes = {"name": "night-agent", "scopes": ["chat", "ocr"], "per_minute": None, "tokens_per_day": 5000}
    assert report["sent"] == [changes, {"expires_days": None}]
    assert "15 of 5,000" in report["row"] and "never" in report["row"]
    [record] = [each for each in told["keys"] if each["name"] == "night-agent"]
    assert record["scopes"] == ["chat", "ocr"] and "expires" not in record and "per_minute" not in record


@pytest.mark.system
async def test_the_configuration_in_force_is_shown_with_its_path_and_no_secret(serve: Serve) -> None:
    toml = (
        "[server]\ndrain_s = 77\n[[models]]\nname = 'SvcLLM'\n[[models.upstreams]]\nbase_url = 'http://127.0.0.1:9/v1'\n"
        "api_key = { credential = 'llm' }\n"
    )
    server = await serve(toml, GATEWAY_CREDENTIAL_LLM="sk-tide-4711")
    report = await in_browser("configuration", server)
    assert report["console"] == []
    assert "drain_s = 77" in report["text"] and "gateway.toml" in report["page"]
    assert 'api_key = { "credential" = "llm" }' in report["text"] and "4711" not in report["page"]
    found = report["found"].splitlines()
    assert "[[models.upstreams]]" in found and 'base_url = "http://127.0.0.1:9/v1"' in found
    assert not any("drain_s" in line for line in found)


async def test_the_product_s_root_says_where_the_console_is(serve: Serve) -> None:
    server = await serve("[ops]\nport = 9499\n")
    status, told, _ = await send(server, "/", method="GET")
    assert status == 404 and "the console is at http://127.0.0.1:9499/" in told["error"]["message"]
    assert "console" not in (await send(server, "/nowhere", method="GET"))[1]["error"]["message"]
    without = await serve("[ops]\nport = 0\n")
    assert "console" not in (await send(without, "/", method="GET"))[1]["error"]["message"]


async def test_the_routes_below_api_ask_for_a_key_and_its_scope(serve: Serve) -> None:
    server = await serve("")
    outsider = server.make_key("chat")

    async def status(path: str, key: str = "", body: Any = None) -> int:
        more: dict[str, Any] = {} if key else {"Authorization": None}
        method = "GET" if body is None else "POST"
        return (await send(server, server.ops_url + path, body, method=method, key=key, **more))[0]

    for page in ("usage", "requests", "history?range=1h", "keys", "upstreams"):
        path = f"/api/admin/{page}"
        assert [await status(path), await status(path, outsider), await status(path, server.key)] == [401, 403, 200]
    preview: dict[str, Any] = {"body": {"text": "x"}}
    assert await status("/api/admin/sanitize", **preview) == 401
    assert await status("/api/admin/sanitize", server.key, **preview) == 200
    assert await status("/api/admin/sanitize", server.key, body={"text": "x" * 70_000}) == 413
    assert await status("/api/v1/chat/completions", **preview) == 401
    assert await status("/api/tools/websearch/mcp", outsider, **preview) == 403
    assert await status("/api/v1/models") == 401 and await status("/api/v1/models", outsider) == 200


async def test_the_product_listener_has_no_console_and_no_admin_data(serve: Serve) -> None:
    server = await serve("")
    for path in ("/", "/console/console.js", "/admin/usage", "/api/admin/usage", "/api/v1/models"):
        assert (await send(server, path, method="GET"))[0] == 404, path


async def test_a_page_of_another_origin_reaches_nothing_below_api(serve: Serve) -> None:
    server = await serve("[server]\nallowed_origins = ['https://app.example']\n")
    own = server.ops_url
    for origin, status in ((own, 200), ("https://app.example", 403), ("http://127.0.0.1:1", 403), ("null", 403)):
        assert (await send(server, own + "/api/v1/models", method="GET", Origin=origin))[0] == status, origin


async def test_the_requests_of_the_product_listener_are_told_and_the_console_s_own_are_not(serve: Serve) -> None:
    server = await serve("")
    _, _, headers = await send(server, "/v1/models", method="GET")
    wanted = headers["X-Request-Id"]
    for _ in range(2):
        _, told, _ = await send(server, server.ops_url + "/api/admin/requests", method="GET")
    records = told["requests"]
    assert [record["request_id"] for record in records] == [wanted]
    assert records[0]["endpoint"] == "models" and records[0]["status"] == 200


async def test_an_admin_makes_rotates_and_revokes_keys_but_not_the_one_in_use(serve: Serve) -> None:
    server = await serve("")

    async def ask(method: str, path: str = "", body: Any = None) -> tuple[int, Any]:
        return (await send(server, f"{server.ops_url}/api/admin/keys{path}", body, method=method))[:2]

    wish = {"name": "agent", "scopes": ["chat"], "per_minute": 5, "expires_days": 2}
    status, made = await ask("POST", body=wish)
    assert status == 200 and made["record"]["per_minute"] == 5 and "sha256" not in made["record"]
    assert (await send(server, f"{server.ops_url}/api/v1/models", method="GET", key=made["key"]))[0] == 200
    status, fresh = await ask("POST", f"/{made['record']['id']}/rotate")
    assert status == 200 and fresh["record"]["scopes"] == ["chat"] and fresh["key"] != made["key"]
    assert (await ask("DELETE", f"/{made['record']['id']}"))[0] == 200
    status, listed = await ask("GET")
    assert fresh["record"]["id"] in {each["id"] for each in listed["keys"]} - {made["record"]["id"]}
    assert (await ask("DELETE", f"/{listed['own']}"))[0] == 400
    assert (await ask("DELETE", "/nosuchid"))[0] == 404
    status, refusal = await ask("POST", body={"name": "x", "scopes": ["everything"]})
    assert status == 400 and "web-search" in refusal["error"]["message"]
