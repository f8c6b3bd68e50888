"""Usage by the users and sessions that requests name, at every door that names them."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.access.usage import read_usage
from gateway.cli.main import main
from gateway.shared_state.sqlite_state import STATE_FILE
from tests.support import upstream as up
from tests.support.asking import CHAT, MCP, MESSAGES, RESPONSES, send
from tests.support.gateways import Gateway
from tests.support.messages_route import HELLO, MODEL
from tests.support.sockets import ENDS, opened
from tests.support.upstream import Upstream
from tests.support.web_tools import tool_call

OLD_ID = "user_" + "1f" * 32 + "_account_9b-2c_session_77-1"
NEW_ID = orjson.dumps({"device_id": "d", "account_uuid": "9b-2c", "session_id": "77-1"}).decode()
ASKED: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    (CHAT, {"messages": HELLO, "user": "9b-2c", "stream": True}, {"X_Session_Id": "77-1"}),
    (CHAT, {"messages": HELLO, "safety_identifier": "9b-2c", "prompt_cache_key": "77-1"}, {}),
    (RESPONSES, {"input": "hi", "user": "9b-2c", "prompt_cache_key": "77-1"}, {}),
    (RESPONSES, {"input": "hi", "user": "9b-2c"}, {"session_id": "77-1"}),
    (MESSAGES, {**MODEL, "messages": HELLO, "metadata": {"user_id": OLD_ID}}, {}),
    (MESSAGES, {**MODEL, "messages": HELLO, "metadata": {"user_id": NEW_ID}, "stream": True}, {}),
]


def used(server: Gateway, *by: str) -> list[Any]:
    return read_usage(server.config.state_dir / STATE_FILE, "2000-01-01", by)


async def test_every_route_names_the_same_user_and_session(server: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    for path, body, headers in ASKED:
        server.upstream.will(up.stream(*up.text_stream()) if body.get("stream") else up.answer())
        status, data, _ = await send(server, path, {"model": "SvcLLM", **body}, **headers)
        assert status == 200, data
    server.upstream.will(up.answer())
    await send(server, CHAT, {"model": "SvcLLM", "messages": HELLO})
    async with opened(server, X_Session_Id="77-1") as socket:
        server.upstream.will(up.stream(*up.text_stream()))
        await socket.create(input="hi", user="9b-2c")
        while (event := await socket.event()) is not None and event["type"] not in ENDS:
            pass
    await send(server, MCP, tool_call("search_status"), X_Session_Id="77-1")
    server.recorder.flush()
    await server.listener.close()
    (user,), (session,) = used(server, "user"), used(server, "session")
    assert user["requests"] == 7 and session["requests"] == 8 and session["tool_calls"] == 1
    assert user["input_tokens"] == session["input_tokens"] == 21
    assert "9b-2c" not in str(user) and len(user["user"]) == len("user_") + 32
    assert sum(row["requests"] for row in used(server)) == 10  # with the opening of the socket
    log = server.log_text()
    assert "9b-2c" not in log and "77-1" not in log and user["user"] in log
    config, state = server.config.state_dir / "gateway.toml", server.config.state_dir
    place = ["--config", str(config), "--state-dir", str(state)]
    assert await asyncio.to_thread(main, ["usage", "--user", "9b-2c", *place]) == 0
    shown = capsys.readouterr().out
    assert "9b-2c" in shown and " 7 " in shown and "77-1" not in shown
    assert await asyncio.to_thread(main, ["usage", "--by", "day,session", "--json", *place]) == 0
    assert session["session"] in capsys.readouterr().out


async def test_a_run_in_the_background_is_its_users_too(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.stream(*up.text_stream()))
    body = {"model": "SvcLLM", "input": "hi", "background": True, "user": "jane"}
    _, begun, _ = await send(server, RESPONSES, body)
    status = begun["status"]
    while status in ("queued", "in_progress"):
        status = (await send(server, f"{RESPONSES}/{begun['id']}", method="GET"))[1]["status"]
    server.recorder.flush()
    await server.listener.close()
    (user,) = used(server, "user")
    assert user["output_tokens"] == 2


@pytest.mark.parametrize("by", ["user,model", "user,session", "session,tool"])
def test_what_cannot_be_summed_together_is_refused(by: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as refusal:
        main(["usage", "--by", by, "--state-dir", str(tmp_path)])
    assert refusal.value.code == 2
