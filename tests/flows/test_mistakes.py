"""The likeliest mistakes of people and programs, and the words they get: what is wrong, where, and what to do.

They stand in `tests/golden/mistakes.json`, a line each; `words` must stand in the message; its code and its
parameter may be left open.
`@` in a header is a good key, `@chat` one with the scope `chat` alone; null leaves the header out.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.cli.main import main
from gateway.embedded.servers import Embedded
from tests.support.gateways import Gateway, Serve, engine_at, upstream_toml
from tests.support.paths import GOLDEN
from tests.support.upstream import answer, scripted_upstream


@pytest.fixture
async def server(serve: Serve) -> AsyncIterator[Gateway]:
    async with scripted_upstream() as upstream:
        upstream.will(answer())
        embedded = Embedded(ocr=engine_at(upstream.url, "embedded-ocr"))
        native = upstream_toml(upstream.url).replace("SvcLLM", "Native") + 'messages = "native"\nresponses = "native"\n'
        models = upstream_toml(upstream.url) + native
        yield await serve(models + "[guardrail]\nenabled = 'off'\n", embedded)
        assert upstream.seen == []


async def told(server: Gateway, chat_key: str, row: Any) -> tuple[int, str, str, Any]:
    """Status, code, message and parameter of the answer to a row's request."""
    given = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json", **row.get("headers", {})}
    headers = {
        name: value.replace("@chat", chat_key).replace("@", server.key)
        for name, value in given.items()
        if value is not None
    }
    method, path = row["request"].split()
    body = row.get("body")
    data = body.encode("latin-1") if isinstance(body, str) else None if body is None else json.dumps(body)
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session,
        session.request(method, server.url + path, headers=headers, data=data) as reply,
    ):
        document = await reply.json()
    if "result" in document:
        document = json.loads(document["result"]["content"][0]["text"])["data"]
    error = document["error"]
    code = str(error.get("data", {}).get("code", error.get("code", "")))
    return reply.status, code, error["message"], error.get("param")


async def test_each_mistake_gets_words_that_say_what_to_do(server: Gateway) -> None:
    """In one test: a gateway for each of a hundred rows would take minutes."""
    chat_key, rows = server.make_key("chat"), json.loads((GOLDEN / "mistakes.json").read_text())
    assert len(rows) >= 100 and len({str(row) for row in rows}) == len(rows)
    wrong = []
    for row in rows:
        status, code, message, param = got = await told(server, chat_key, row)
        is_right = status == row["status"] and row["code"] in ("", code) and row.get("param", param) == param
        if not is_right or not all(word in message for word in row["words"]):
            wrong.append((row["mistake"], got))
        assert server.key not in message
    assert wrong == []


@pytest.mark.parametrize(
    ("words", "code", "wanted"),
    [
        (["serv"], 2, "there is no command 'serv'; did you mean serve?"),
        (["keys", "create", "--name", "a"], 2, "--scope"),
        (["keys", "create", "--name", "a", "--scope", "chats"], 2, "must be one of web-search, chat"),
        (["keys", "create", "--name", "a", "--scope", "chat", "--expires", "soon"], 2, "--expires"),
        (["keys", "create", "--name", "a", "--scope", "chat", "--per-minute", "-1"], 2, "--per-minute"),
        (["llm-server", "--port", "99999"], 2, "--port"),
        (["keys", "revoke", "nope"], 1, "nope"),
        (["ocr", "nothing.png"], 1, "there is no file nothing.png"),
        (["check-config", "nothing.toml"], 78, "nothing.toml"),
        (["call", "search", "query"], 1, "write key=value"),
        (["crawl", "ftp://a.example", "--out", "out"], 1, "give the URL of a site"),
    ],
)
def test_a_mistake_on_the_command_line_says_what_to_do(
    words: list[str],
    code: int,
    wanted: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "dev-key").write_text("gw_none")
    try:
        found: object = main(words)
    except SystemExit as ended:
        found = ended.code
    error = capsys.readouterr().err
    assert (found, wanted in error) == (code, True), error
