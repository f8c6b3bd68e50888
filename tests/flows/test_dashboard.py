"""Metrics: each is documented, and every query of the dashboard and of the alert rules finds its metrics and labels."""

import asyncio
import json
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.asking import send
from tests.support.gateways import Gateway, Serve, start_process, upstream_toml
from tests.support.paths import ROOT
from tests.support.promql import WrongQuery, check, samples
from tests.support.upstream import Script, Upstream, answer, chunk, reset, scripted_upstream, stream, text_stream
from tests.support.web_tools import tool_call

GRAFANA = ROOT / "docs" / "grafana"
CHAT = {"model": "SvcLLM", "messages": [{"role": "user", "content": "mail jane.doe@example.org"}]}


def alert_queries() -> dict[str, str]:
    """Query by the name of its alert. The file is YAML whose strings are JSON."""
    text = (GRAFANA / "alerts.yml").read_text()
    return {name: json.loads(query) for name, query in re.findall(r"- alert: (\w+)\n +expr: (.*)\n", text)}


def panel_queries() -> dict[str, str]:
    dashboard = json.loads((GRAFANA / "gateway.json").read_text())
    return {f"{p['title']} {t['refId']}": t["expr"] for p in dashboard["panels"] for t in p["targets"]}


async def post(gateway: Gateway, path: str, body: Any, **headers: Any) -> int:
    return (await send(gateway, path, body, **headers))[0]


async def used_gateway(serve: Serve, upstream: Upstream) -> str:
    """The metrics of a gateway that has met everything that is counted."""
    toml = '[guardrail]\nenabled = "off"\n' + upstream_toml(upstream.url)
    gateway = await serve(toml)
    cut = stream(chunk({"content": "cut"}), end=False)
    upstream.will(answer({}, status=503), answer(), stream(*text_stream()), cut, answer())
    assert await post(gateway, "/v1/chat/completions", CHAT) == 200  # at the second attempt
    assert await post(gateway, "/v1/chat/completions", {**CHAT, "stream": True}) == 200
    assert await post(gateway, "/v1/chat/completions", {**CHAT, "stream": True}) == 200  # cut
    assert await post(gateway, "/v1/chat/completions", CHAT, Authorization="Bearer wrong") == 401
    assert await post(gateway, "/tools/websearch/mcp", tool_call("search_status")) == 200
    return str((await send(gateway, gateway.ops_url + "/metrics", method="GET"))[1])


@pytest.fixture
async def metrics_text(serve: Serve) -> str:
    async with scripted_upstream() as upstream:
        return await used_gateway(serve, upstream)


RARE = {
    "gateway_abandoned_total": {"endpoint"},  # a client that leaves
    "gateway_unguarded_texts_total": {"endpoint"},  # a guardrail that fails
    "gateway_sanitizer_findings_total": {"entity"},
}
"""Metrics whose series the gateway above does not have: it has their names, and these are their labels."""


async def test_every_query_of_the_dashboard_and_the_alerts_finds_its_metrics(metrics_text: str) -> None:
    known = samples(metrics_text)
    for name, labels in RARE.items():
        assert f"# TYPE {name} counter" in metrics_text or name.removesuffix("_total") in metrics_text
        known.setdefault(name, labels)
    queries = {**panel_queries(), **alert_queries()}
    assert len(queries) > 40
    used: set[str] = set()
    for query in queries.values():
        used |= check(query, known)
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in known if not name.endswith("_created")}
    unused = {name for name in families if name not in {re.sub(r"_(bucket|count|sum)$", "", each) for each in used}}
    assert not unused, "metrics that no panel and no alert shows"


async def test_every_metric_is_named_in_the_documentation_and_no_other(metrics_text: str) -> None:
    section = (ROOT / "docs" / "telemetry.md").read_text().partition("\n## Metrics\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`gateway_[^|]*) \|([^|]*)\|", section, flags=re.MULTILINE)
    documented = {
        name: set(re.findall(r"`(\w+)`", labels)) for names, labels in rows for name in re.findall(r"`(\w+)`", names)
    }
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", metrics_text, flags=re.MULTILINE))
    assert sorted(documented) == sorted(name for name in types if not name.endswith("_created"))
    plain = {re.sub(r"_(bucket|count|sum)$", "", name): labels for name, labels in samples(metrics_text).items()}
    known = {name: labels - {"le"} for name, labels in plain.items()}
    for name, labels in {**known, **RARE}.items():
        if not name.endswith("_created"):
            assert documented[name] == labels, name


UP_KEY = "not-the-gateways-key"


def two_models(first: Upstream, second: Upstream) -> str:
    """`SvcLLM` on two upstreams, the second of which is tried last."""
    key = "model = 'm'\napi_key = { credential = 'up' }\n"
    rows = ((first.url, "weight = 3\n"), (second.url, "weight = 0\nname = 'spare'\n"))
    tables = "".join(f"[[models.upstreams]]\nbase_url = '{url}'\n{more}{key}" for url, more in rows)
    return f"[guardrail]\nenabled = 'off'\n[[models]]\nname = 'SvcLLM'\n{tables}"


async def rows_of(gateway: Gateway) -> list[dict[str, Any]]:
    status, told, _ = await send(gateway, gateway.ops_url + "/api/admin/upstreams", method="GET")
    assert status == 200
    assert [each["upstream"] for each in told["upstreams"][2:]] in ([], ["embedded-embedding"])
    return list(told["upstreams"][:2])


@pytest.mark.parametrize(
    ("script", "is_streamed", "failures", "said"),
    [
        (answer({"error": {"message": f"Wrong {UP_KEY} in: mail jane.doe@example.org", "type": "auth", "code": UP_KEY}},
                status=401), False, 1, "status 401 auth [hidden]: Wrong [hidden] in: [hidden]"),
        (answer({"error": {"message": "out of credit"}}, status=429), False, 1, "status 429: out of credit"),
        (reset(), False, 1, "disconnected"),
        (answer(b"<html>Log in</html>", kind="text/html"), False, 1, "not json"),
        (stream(chunk({"content": "cut"}), end=False), True, 1, "upstream_error"),
        (answer({"error": {"message": "too hot"}}, status=400), False, 0, None),
        (answer(), False, 0, None),
    ],
    ids=["wrong key", "no credit", "reset", "page", "cut", "its caller's fault", "sound"],
)  # fmt: skip
async def test_each_upstream_has_a_row_that_says_how_it_failed_last(
    serve: Serve, script: Script, is_streamed: bool, failures: int, said: str | None
) -> None:
    async with scripted_upstream() as first, scripted_upstream() as second:
        first.will(script)
        second.will(answer())
        gateway = await serve(two_models(first, second), GATEWAY_CREDENTIAL_UP=UP_KEY)
        never = {"last_success": None, "last_failure": None, "said": None, "requests": 0, "failures": 0, "p50_ms": None}
        assert [each.items() >= never.items() for each in await rows_of(gateway)] == [True, True]
        await post(gateway, "/v1/chat/completions", {**CHAT, "stream": is_streamed})
        row, spare = await rows_of(gateway)
    assert (row["model"], row["upstream"], row["weight"], row["breaker"]) == ("SvcLLM", "upstream-1", 3, "closed")
    assert (row["requests"], row["failures"], row["said"]) == (1, failures, said)
    assert (row["last_failure"] is not None) is bool(failures)
    assert (row["p50_ms"] is not None) is (row["last_success"] is not None) is (is_streamed or not failures)
    assert (spare["upstream"], spare["requests"]) == ("spare", int(bool(failures) and not is_streamed))
    assert UP_KEY not in gateway.log_text()


async def test_an_upstream_that_failed_last_is_a_note_until_it_answers(serve: Serve) -> None:
    async def ready() -> tuple[int, str]:
        status, told, _ = await send(gateway, gateway.ops_url + "/readyz", method="GET")
        return status, str(told.get("notes", ""))

    async with scripted_upstream() as first, scripted_upstream() as second:
        gateway = await serve(two_models(first, second), GATEWAY_CREDENTIAL_UP=UP_KEY)
        for upstream in (first, second):
            upstream.will(answer({}, status=500))
        second.will(answer(), answer({}, status=500))
        assert await post(gateway, "/v1/chat/completions", CHAT) == 200
        assert await ready() == (200, "['upstream upstream-1 of SvcLLM failed last: status 500']")
        assert await post(gateway, "/v1/chat/completions", CHAT) == 502
        status, notes = await ready()
        assert (
            status == 200
            and "upstream spare of SvcLLM failed last, and none answers" in notes
            and "status 500" in notes
        )
        first.will(answer())
        assert await post(gateway, "/v1/chat/completions", CHAT) == 200
        assert await ready() == (200, "['upstream spare of SvcLLM failed last: status 500']")


@pytest.mark.slow
async def test_every_worker_tells_what_all_have_seen_also_after_a_reload(tmp_path: Path, upstream: Upstream) -> None:
    upstream.will(*[answer()] * 8, *[answer({}, status=500)] * 12)
    async with start_process(tmp_path, "workers = 3\n" + upstream_toml(upstream.url)) as gateway:

        async def all_tell(notes: str) -> None:
            """Wait until every worker does, each asked on a connection of its own."""
            async with asyncio.timeout(20):
                while True:
                    seen = set()
                    for _ in range(12):
                        async with aiohttp.request(
                            "GET", gateway.ops_url + "/api/admin/upstreams", headers=gateway.headers
                        ) as reply:
                            row = (await reply.json())["upstreams"][0]
                        ready, metrics = [(await gateway.get(path, ops=True))[1] for path in ("/readyz", "/metrics")]
                        figures = f"{row['requests']} {row['failures']} {row['said']} {row['p50_ms'] is None}"
                        seen.add((figures, str(json.loads(ready).get("notes")), "operator_notes 1.0\n" in metrics))
                    if seen == {("20 12 status 500 False", notes, True)}:
                        return
                    await asyncio.sleep(0.2)

        for _ in range(20):
            await gateway.chat()
        failing = "['upstream upstream-1 of SvcLLM failed last, and none answers: status 500']"
        await all_tell(failing)
        gateway.send(signal.SIGHUP)
        await gateway.wait_for_event("reloaded")
        await all_tell(failing)


async def test_the_tool_calls_retries_and_the_process_are_counted(metrics_text: str) -> None:
    assert 'gateway_upstream_retries_total{model="SvcLLM"} 1.0' in metrics_text
    assert 'gateway_tool_calls_total{outcome="ok",tool="websearch-search_status"} 1.0' in metrics_text
    assert 'gateway_upstream_open{model="SvcLLM",upstream="upstream-1"} 0.0' in metrics_text
    assert 'gateway_store_up{store="file"} 1.0' in metrics_text
    values = dict(re.findall(r"^(gateway_\w+) (\S+)$", metrics_text, flags=re.MULTILINE))
    assert float(values["gateway_process_resident_bytes"]) > 10_000_000
    assert float(values["gateway_process_open_files"]) > 3 and values["gateway_workers"] == "1.0"


@pytest.mark.parametrize(
    "query",
    [
        "gateway_nothing", "sum by (colour) (gateway_requests_total)", 'gateway_requests_total{colour="red"}',
        "rate(gateway_requests_total)", "sum(gateway_requests_total", "delta(gateway_requests_total[5m])",
        "histogram_quantile(0.9, sum by (endpoint) (rate(gateway_requests_total[5m])))", "gateway_requests_total )",
    ],
)  # fmt: skip
def test_a_query_that_would_find_nothing_is_noticed(query: str) -> None:
    with pytest.raises(WrongQuery):
        check(query, {"gateway_requests_total": {"endpoint", "status"}})


def test_every_alert_says_what_it_means_and_what_to_do() -> None:
    text = (GRAFANA / "alerts.yml").read_text()
    for block in text.split("      - alert: ")[1:]:
        assert re.search(r'summary: ".{20,}"', block) and re.search(r'action: ".{20,}"', block), block


@pytest.mark.system
def test_prometheus_accepts_the_alert_rules() -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    done = subprocess.run(
        ["promtool", "check", "rules", GRAFANA / "alerts.yml"], check=False, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stdout + done.stderr
