"""Metrics: each is documented, and every query of the dashboard and of the alert rules finds its metrics and labels."""

import json
import re
import shutil
import subprocess
from typing import Any

import pytest

from tests.support.asking import send
from tests.support.gateways import InProcessGateway, StartGateway, upstream_toml
from tests.support.paths import ROOT
from tests.support.promql import WrongQuery, check, samples
from tests.support.upstream import Upstream, answer, chunk, scripted_upstream, stream, text_stream
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


async def post(gateway: InProcessGateway, path: str, body: Any, **headers: Any) -> int:
    return (await send(gateway, path, body, **headers))[0]


async def used_gateway(start_gateway: StartGateway, upstream: Upstream) -> str:
    """The metrics of a gateway that has met everything that is counted."""
    toml = '[guardrail]\nenabled = "off"\n' + upstream_toml(upstream.url)
    gateway = await start_gateway(toml)
    upstream.will(
        answer({}, status=503), answer(), stream(*text_stream()), stream(chunk({"content": "cut"}), end=False), answer()
    )
    assert await post(gateway, "/v1/chat/completions", CHAT) == 200  # at the second attempt
    assert await post(gateway, "/v1/chat/completions", {**CHAT, "stream": True}) == 200
    assert await post(gateway, "/v1/chat/completions", {**CHAT, "stream": True}) == 200  # cut
    assert await post(gateway, "/v1/chat/completions", CHAT, Authorization="Bearer wrong") == 401
    assert await post(gateway, "/tools/websearch/mcp", tool_call("search_status")) == 200
    return str((await send(gateway, gateway.ops_url + "/metrics", method="GET"))[1])


@pytest.fixture
async def metrics_text(start_gateway: StartGateway) -> str:
    async with scripted_upstream() as upstream:
        return await used_gateway(start_gateway, upstream)


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
    known = {
        re.sub(r"_(bucket|count|sum)$", "", name): labels - {"le"} for name, labels in samples(metrics_text).items()
    }
    for name, labels in {**known, **RARE}.items():
        if not name.endswith("_created"):
            assert documented[name] == labels, name


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
