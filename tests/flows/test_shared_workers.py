"""Two workers behave like one: limits, budgets, stored responses, searches, cancellation. Through real processes."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.access.keys import KeyFile, KeyRequest
from tests.flows.test_workers import told
from tests.support import shared_checks as checks
from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import start_process, upstream_toml
from tests.support.shared_checks import Site
from tests.support.upstream import Upstream, answer, scripted_upstream
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow

SCOPES = ("web-search", "chat", "responses")


@pytest.fixture
async def searches() -> AsyncIterator[Upstream]:
    async with scripted_upstream() as provider:
        yield provider


def settings(upstream: Upstream, searches: Upstream) -> str:
    return (
        'workers = 2\n[access]\nbad_keys_per_minute = 5\n[guardrail]\nenabled = "off"\n'
        f'[search]\nprovider = "searxng"\nbase_url = "{searches.url}"\n' + upstream_toml(upstream.url)
    )


def make_key(gateway: GatewayProcess, **limits: int) -> str:
    return KeyFile(gateway.state_dir / "keys.json").create(KeyRequest("test", SCOPES, **limits))[0]


async def test_two_workers_share_everything_that_one_would_know(
    tmp_path: Path, upstream: Upstream, searches: Upstream
) -> None:
    upstream.will(answer())
    async with start_process(tmp_path, settings(upstream, searches)) as gateway:
        site = Site([gateway.url], upstream)
        kept = await checks.stored_responses_are_found_everywhere(site, gateway.key)
        await checks.the_minute_is_counted_together(site, make_key(gateway, per_minute=7), 7)
        await checks.requests_at_once_are_counted_together(site, make_key(gateway, concurrent=3), 3)
        await checks.a_budget_is_exact_in_parallel(site, make_key(gateway, tokens_per_day=155), 155)
        await checks.wrong_keys_are_counted_together(site, 5)
        await checks.a_user_has_one_hash(site, gateway.key)
        await checks.a_search_is_asked_once(site, searches, gateway.key)
        await checks.a_call_is_cancelled_wherever_it_runs(site, searches, gateway.key)
        gateway.send(signal.SIGHUP)
        await gateway.wait_for_event("reloaded")
        assert set(await site.statuses(8, "GET", f"/v1/responses/{kept}", gateway.key)) == {200}
    async with start_process(tmp_path, settings(upstream, searches)) as restarted:
        site = Site([restarted.url], upstream)
        assert set(await site.statuses(4, "GET", f"/v1/responses/{kept}", restarted.key)) == {200}


async def test_a_store_in_memory_keeps_responses_off_the_disk(tmp_path: Path, upstream: Upstream) -> None:
    upstream.will(answer())
    secret = "a text that must not be on the disk"
    for store, is_found in (("shared", True), ("memory", False)):
        folder = tmp_path / store
        folder.mkdir()
        toml = f'workers = 1\n[shared]\nstore = "{store}"\n[guardrail]\nenabled = "off"\n' + upstream_toml(upstream.url)
        async with start_process(folder, toml) as gateway:
            site = Site([gateway.url], upstream)
            _, made = await site.send("POST", "/v1/responses", gateway.key, {"model": "SvcLLM", "input": secret})
            assert (await site.send("GET", f"/v1/responses/{made['id']}", gateway.key))[0] == 200
        written = b"".join(file.read_bytes() for file in (folder / "state").glob("state.sqlite3*"))
        assert (secret.encode() in written) == is_found


async def test_a_state_file_that_cannot_be_used_stops_no_request_and_is_told(
    tmp_path: Path, upstream: Upstream
) -> None:
    upstream.will(answer())
    (tmp_path / "state" / "state.sqlite3").mkdir(parents=True)
    toml = 'workers = 2\n[guardrail]\nenabled = "off"\n' + upstream_toml(upstream.url)
    async with start_process(tmp_path, toml) as gateway:
        site = Site([gateway.url], upstream)
        key = make_key(gateway, per_minute=10, tokens_per_day=1000)
        assert await site.statuses(4, "POST", "/v1/chat/completions", key, checks.CHAT) == [200] * 4
        await eventually(lambda: told(gateway, "/readyz", "state file cannot be used"), 10)
        await eventually(lambda: told(gateway, "/metrics", 'gateway_store_up{store="file"} 0.0'), 10)
