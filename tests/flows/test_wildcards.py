"""Models whose configured name stands for several: which one a name means, and what is told of it."""

from pathlib import Path

import pytest

from gateway.config.environment import Environment
from gateway.config.loader import ConfigError, load_config
from gateway.services.completion.model_names import takes
from tests.support import upstream as up
from tests.support.asking import CHAT, MESSAGES, OFF, RESPONSES, send
from tests.support.doors import body_for
from tests.support.gateways import Gateway, Serve
from tests.support.upstream import Upstream

PRICE = '[[prices]]\nmodel = "claude-*"\ninput_per_million = 1.0\noutput_per_million = 1.0\ncurrency = "EUR"\n'


def model(upstream: Upstream, name: str, *lines: str, upstream_lines: str = "") -> str:
    head = "\n".join((f"[[models]]\nname = '{name}'", *lines))
    return f"{head}\n[[models.upstreams]]\nbase_url = '{upstream.url}'\n{upstream_lines}\n"


@pytest.fixture
async def server(serve: Serve, upstream: Upstream) -> Gateway:
    parts = [
        model(upstream, "claude-*", "list_models = true"),
        model(upstream, "claude-haiku-*", "aliases = ['small-*']", upstream_lines="model = 'tiny'"),
        model(upstream, "claude-opus", upstream_lines="model = 'own'"),
    ]
    return await serve("[server]\nbase_path = ''\n" + "".join(parts) + PRICE + OFF)


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("name", "sent", "told"),
    [("claude-sonnet-5", "claude-sonnet-5", "claude-sonnet-5"), ("claude-haiku-4-5", "tiny", "claude-haiku-4-5"),
     ("small-1", "tiny", "small-1"), ("claude-opus", "own", "claude-opus"), ("claude-", "claude-", "claude-")],
)  # fmt: skip
async def test_the_most_exact_name_wins_and_the_caller_reads_its_own(
    server: Gateway, upstream: Upstream, path: str, stream: bool, name: str, sent: str, told: str
) -> None:
    upstream.will(up.stream(*up.text_stream()) if stream else up.answer())
    status, data, _ = await send(server, path, body_for(path, model=name, stream=stream))
    assert status == 200, data
    assert upstream.last.body["model"] == sent
    first = data if not stream else data[0].get("response") or data[0].get("message") or data[0]
    last = data if not stream else data[-1].get("response") or first
    assert first["model"] == last["model"] == told


@pytest.mark.parametrize("name", ["gpt-5", "Claude-x", "claude-a b", "claude-\nx", "xclaude-1"])
async def test_other_names_are_unknown(server: Gateway, upstream: Upstream, name: str) -> None:
    status, data, _ = await send(server, CHAT, body_for(CHAT, model=name))
    assert status == 404 and "claude-*" in data["error"]["message"] and not upstream.seen


async def test_usage_price_log_and_metrics_go_by_the_entry(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    await send(server, CHAT, body_for(CHAT, model="claude-one"))
    await send(server, CHAT, body_for(CHAT, model="claude-two"))
    _, text, _ = await send(server, server.ops_url + "/metrics", method="GET")
    assert 'model="claude-*"' in text and "claude-one" not in text
    log = server.log_text()
    assert '"model":"claude-*"' in log and "claude-two" not in log


async def test_what_the_upstream_lists_is_listed_and_asked_for_once(server: Gateway, upstream: Upstream) -> None:
    names = ["claude-sonnet-5", "claude-haiku-5", "gpt-9", "claude-opus", 7]
    upstream.will(up.answer({"data": [{"id": name} for name in names]}))
    listed = [(await send(server, "/v1/models", method="GET"))[1]["data"] for _ in range(2)]
    assert [each["id"] for each in listed[0]] == ["claude-sonnet-5", "claude-opus"] and listed[0] == listed[1]
    assert [seen.path for seen in upstream.seen] == ["/v1/models"]
    _, data, _ = await send(server, "/v1/models", method="GET", anthropic_version="2023-06-01")
    assert [each["id"] for each in data["data"]] == ["claude-sonnet-5", "claude-opus"]
    status, data, _ = await send(server, "/v1/models/claude-anything", method="GET")
    assert status == 200 and data["id"] == "claude-anything"


async def test_an_upstream_that_lists_nothing_costs_only_itself(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer({"error": {"message": "no"}}, status=500))
    status, data, _ = await send(server, "/v1/models", method="GET")
    assert status == 200 and [each["id"] for each in data["data"]] == ["claude-opus"]


@pytest.mark.parametrize(
    ("lines", "told"),
    [("name = '*'", "a bare * would take every name"), ("name = 'a'\naliases = ['**']", "a bare *"),
     ("name = 'a'\nlist_models = true", "lists what a wildcard stands for")],
)  # fmt: skip
def test_a_bare_star_is_refused(tmp_path: Path, lines: str, told: str) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(f"[[models]]\n{lines}\n[[models.upstreams]]\nbase_url = 'http://127.0.0.1:9/v1'\n")
    with pytest.raises(ConfigError, match=told.replace("*", r"\*")):
        load_config(file, tmp_path, Environment({}))


@pytest.mark.parametrize(
    ("wildcard", "name", "is_taken"),
    [("a*", "a", True), ("*b", "ab", True), ("a*b*c", "a-b-c", True), ("a*b*c", "abbc", True), ("a*b*c", "acb", False),
     ("ab*ba", "aba", False), ("a*a*a", "aa", False), ("a*", "ba", False)],
)  # fmt: skip
def test_a_star_stands_for_any_letters(wildcard: str, name: str, is_taken: bool) -> None:
    assert takes(wildcard, name) is is_taken
