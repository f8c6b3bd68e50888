"""The data of the console and its files, over real sockets: usage, previews, headers, what is refused."""

import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import ClientSession

from gateway import schemas
from gateway.access.keys import KeyFile, KeyRequest, record_to_json
from gateway.domain import Json
from gateway.shared_state.sqlite_state import STATE_FILE
from tests.support.asking import send
from tests.support.full_disk import files_end_at
from tests.support.gateways import Gateway, Serve
from tests.support.used import use

TODAY: Callable[[], str] = lambda: time.strftime("%Y-%m-%d", time.gmtime())  # noqa: E731 - a constant but at midnight


@pytest.fixture
async def server(serve: Serve) -> Gateway:
    return await serve("")


@pytest.fixture
async def session(server: Gateway) -> AsyncIterator[ClientSession]:
    async with ClientSession(server.ops_url, headers=server.headers) as session:
        yield session


async def asked(session: ClientSession, path: str, method: str = "GET", **options: Any) -> tuple[int, Any]:
    async with session.request(method, f"/api/admin/{path}", **options) as reply:
        return reply.status, await reply.json()


async def test_usage_is_summed_by_the_groups_that_are_asked_for(server: Gateway, session: ClientSession) -> None:
    await use(server.config.state_dir)
    _, data = await asked(session, "usage", params={"by": "key,model", "since": TODAY()})
    assert data["since"] == TODAY() and data["by"] == ["key", "model"]
    rows = {(row["key"], row["model"]): row for row in data["rows"]}
    assert rows["k1", "SvcLLM"]["input_tokens"] == 1_700 and rows["k1", "SvcLLM"]["requests"] == 2
    assert rows["k2", ""]["tool_calls"] == 4
    (total,) = (await asked(session, "usage", params={"by": ""}))[1]["rows"]
    assert total["requests"] == 6 and "key" not in total


@pytest.mark.parametrize("is_revoked", [False, True])
async def test_usage_and_requests_have_the_name_of_a_key_that_there_is_or_was(
    server: Gateway, session: ClientSession, is_revoked: bool
) -> None:
    keys = KeyFile(server.config.state_dir / server.config.access.keys_file)
    key, record = keys.create(KeyRequest("crawler", ("chat",)))
    await use(server.config.state_dir, record.id)
    assert (await send(server, "/v1/models", method="GET", key=key))[0] == 200
    if is_revoked:
        keys.revoke(record.id)
    rows = {row["key"]: row.get("name") for row in (await asked(session, "usage", params={"by": "key"}))[1]["rows"]}
    assert rows[record.id] == "crawler" and rows["k2"] is None
    named = {row["key"]: row.get("name") for row in (await asked(session, "requests"))[1]["requests"]}
    assert named[record.id] == "crawler"


CHANGES = [
    ({"name": "other"}, 200, {"name": "other", "per_minute": 5}),
    ({"per_minute": None, "expires_days": None, "spend_per_month": 0.5}, 200, {"spend_per_month": 0.5}),
    ({"scopes": ["ocr"], "concurrent": 0}, 200, {"scopes": ["ocr"], "concurrent": 0}),
    ({}, 400, "the body"),
    ({"name": None}, 400, "name"),
    ({"sha256": "0" * 64}, 400, "sha256"),
    ({"scopes": ["everything"]}, 400, "unknown scope everything"),
    ({"per_minute": -1}, 400, "per_minute"),
]


@pytest.mark.parametrize(("changes", "status", "told"), CHANGES)
async def test_a_key_is_edited_by_the_fields_that_change(
    server: Gateway, session: ClientSession, changes: Json, status: int, told: Any
) -> None:
    keys = KeyFile(server.config.state_dir / "keys.json")
    _, record = keys.create(KeyRequest("agent", ("chat",), 86_400, per_minute=5))
    found, answer = await asked(session, f"keys/{record.id}", "PATCH", json=changes)
    assert found == status, answer
    if status != 200:
        assert told in answer["error"]["message"] and keys.find(record.id) == record
        return
    kept = record_to_json(keys.find(record.id))
    del kept["sha256"]
    assert answer["record"] == {**kept, "scopes": list(kept["scopes"])}
    assert all(answer["record"].get(name) == each for name, each in {**dict.fromkeys(changes), **told}.items())


async def test_the_key_in_use_stays_admin_and_an_unknown_is_404(server: Gateway, session: ClientSession) -> None:
    (own,) = KeyFile(server.config.state_dir / "keys.json").read()
    for key_id, changes, status in (
        (own.id, {"scopes": ["chat"]}, 400), (own.id, {"scopes": ["chat", "admin"]}, 200),
        (own.id, {"per_minute": 90}, 200), ("nosuchid", {"per_minute": 1}, 404),
    ):  # fmt: skip
        assert (await asked(session, f"keys/{key_id}", "PATCH", json=changes))[0] == status, (key_id, changes)


WRONG = [({"since": "yesterday"}, "since"), ({"since": "2026-1-1"}, "since"), ({"by": "day,secret"}, "by")]


@pytest.mark.parametrize(("params", "param"), WRONG)
async def test_a_wrong_parameter_is_named(session: ClientSession, params: dict[str, str], param: str) -> None:
    status, answer = await asked(session, "usage", params=params)
    assert status == 400 and answer["error"]["param"] == param


async def test_a_file_that_cannot_be_read_is_said_so(server: Gateway, session: ClientSession) -> None:
    server.config.state_dir.joinpath(STATE_FILE).write_bytes(b"not a database" * 100)
    status, answer = await asked(session, "usage")
    assert status == 503 and "usage" in answer["error"]["message"]


async def test_a_key_that_cannot_be_written_is_told_and_alters_nothing(server: Gateway, session: ClientSession) -> None:
    keys, wish = server.config.state_dir / "keys.json", {"name": "x", "scopes": ["chat"]}
    before = keys.read_bytes()
    with files_end_at(len(before) + 20):
        status, answer = await asked(session, "keys", "POST", json=wish)
    error = answer["error"]
    assert (status, error["code"]) == (503, "state_unavailable")
    assert "no key was changed: keys.json cannot be" in error["message"] and keys.read_bytes() == before
    assert (await asked(session, "keys", "POST", json=wish))[0] == 200


async def test_a_preview_tells_places_actions_and_both_texts(session: ClientSession) -> None:
    text = "😀\nmail jane.roe@corporation.com"
    _, data = await asked(session, "sanitize", "POST", json={"text": text})
    (found,) = data["findings"]
    assert text[found["start"] : found["end"]] == "jane.roe@corporation.com"
    assert (found["line"], found["column"], found["entity"]) == (2, 6, "EMAIL")
    assert (found["request"], found["response"]) == ("redact", "flag")
    assert data["request_text"] == "😀\nmail [REDACTED:EMAIL]" and data["response_text"] == text
    _, strict = await asked(session, "sanitize", "POST", json={"text": text, "profile": "strict"})
    assert strict["response_text"] == "😀\nmail [REDACTED:EMAIL]"
    for body, param in (({"text": 1}, "text"), ({}, "text"), ({"text": "x", "profile": "lax"}, "profile")):
        status, answer = await asked(session, "sanitize", "POST", json=body)
        assert status == 400 and param in str(answer["error"])


async def test_the_page_allows_no_code_but_its_own_files_and_is_asked_for_anew(session: ClientSession) -> None:
    async with session.get("/") as reply:
        policy, tag = reply.headers["Content-Security-Policy"], reply.headers["ETag"]
        assert reply.content_type == "text/html" and "<title>gateway console</title>" in await reply.text()
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["script-src"] == rules["connect-src"] == "'self'"
    async with session.get("/console/console.js") as reply:
        assert reply.content_type == "text/javascript" and reply.headers["X-Content-Type-Options"] == "nosniff"
        tags = {"/": tag, "/console/console.js": reply.headers["ETag"]}
    for path, tag in tags.items():
        async with session.get(path, headers={"If-None-Match": tag}) as reply:
            assert (reply.status, reply.headers["ETag"], await reply.read()) == (304, tag, b"")
    for name in ("__init__.py", "nothing.js", "..%2Fops.py", "index.html.bak"):
        async with session.get(f"/console/{name}") as reply:
            assert reply.status == 404, name


def test_what_an_edit_may_change_is_what_a_new_key_may_have() -> None:
    assert schemas.load("admin_key_changes")["properties"] == schemas.load("admin_key")["properties"]
