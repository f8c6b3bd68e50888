"""`gateway keys erase`: nothing is left of a revoked key, and everything of another one."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gateway.access.keys import KeyFile, KeyRequest
from gateway.app.erasing import erase
from gateway.domain import Json
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.store import PageIndex
from tests.support import upstream as up
from tests.support.asking import ASK, CHAT, official, send, toml
from tests.support.gateway_process import run_command
from tests.support.gateways import start_in_process, start_process, upstream_toml
from tests.support.upstream import Upstream


async def use(client: Any) -> None:
    """A response, a conversation and a background run."""
    await client.responses.create(model="SvcLLM", input="hello", user="ann")
    await client.conversations.create(items=[{"type": "message", "role": "user", "content": "hi"}])
    run = await client.responses.create(model="SvcLLM", input="hello", background=True, stream=True)
    async for _ in run:
        pass


async def test_all_that_a_key_has_left_is_removed_and_nothing_of_another(tmp_path: Path, upstream: Upstream) -> None:
    async with start_in_process(tmp_path, toml(upstream)) as server:
        keys = KeyFile(tmp_path / "keys.json")
        wish = KeyRequest("users", ("responses",), per_user_tokens_per_day=100_000)
        gone, stays = keys.create(wish)[0], keys.create(wish)[0]
        ids = [key.split("_")[1] for key in (gone, stays)]
        upstream.will(up.answer(), up.stream(*up.text_stream()), up.answer(), up.stream(*up.text_stream()))
        for key in (gone, stays):
            async with official(server, key) as client:
                await use(client)
        index = PageIndex(tmp_path / "index.sqlite3", max_pages=100, ttl_days=9)
        owners = enumerate([*ids, ""])
        pages = [IndexedPage(f"https://a.example/{n}", "T", "words", owner=owner) for n, owner in owners]
        await index.add(pages)
        await index.close()
    refused = run_command("keys", "erase", ids[0], "--state-dir", str(tmp_path))
    assert refused.returncode != 0 and "revoke" in refused.stderr
    KeyFile(tmp_path / "keys.json").revoke(ids[0])
    erased = await erase(server.config, ids[0])
    assert erased == {"responses": 2, "conversations": 1, "runs": erased["runs"], "pages": 1,
                      "usage": erased["usage"], "records": 4, "counters": 3}  # fmt: skip
    assert erased["runs"] >= 2 and erased["usage"] >= 1
    left = rows_by_key(tmp_path / "state.sqlite3")
    assert ids[0] not in left and left[ids[1]] >= 5
    done = run_command("keys", "erase", ids[0], "--state-dir", str(tmp_path), "--json")
    assert done.returncode == 0 and '"responses":0' in done.stdout.replace(" ", "")


def rows_by_key(path: Path) -> Json:
    with closing(sqlite3.connect(path)) as connection:
        kinds = ("owner FROM entries", "key FROM usage", "key FROM requests")
        rows = connection.execute(" UNION ALL ".join(f"SELECT {kind}" for kind in kinds)).fetchall()
    return {key: sum(row[0] == key for row in rows) for (key,) in rows}


@pytest.mark.slow  # a running gateway writes within seconds
async def test_what_a_running_gateway_has_yet_to_write_of_a_key_is_removed_too(
    tmp_path: Path, upstream: Upstream
) -> None:
    upstream.will(up.answer())
    async with start_process(tmp_path, upstream_toml(upstream.url)) as server:
        key = server.command("keys", "create", "--name", "gone", "--scope", "chat").stdout.strip()
        assert (await send(server, CHAT, ASK, key=key))[0] == 200
        for action in ("revoke", "erase"):
            assert server.command("keys", action, key.split("_")[1]).returncode == 0
        await asyncio.sleep(6)
        assert key.split("_")[1] not in rows_by_key(server.state_dir / "state.sqlite3")
