"""Claude Code against the gateway, before a scripted model: a session with a tool call, and one whose upstream dies."""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.client_config import ClientSettings, client_text
from tests.support import upstream as up
from tests.support.asking import toml
from tests.support.gateways import Gateway, Serve
from tests.support.hosted_search import call, round_of, scene, search
from tests.support.official import fetch_modules, fetching, run
from tests.support.paths import CLIENTS
from tests.support.upstream import Upstream

pytestmark = [pytest.mark.slow, pytest.mark.system]
FOLDER = CLIENTS / "claude"
LIMIT_S = 90
_FILES = 20


@pytest.fixture(scope="module")
def claude() -> Path:
    """The program, of the version in the lock file."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: Claude Code is not run")
    with fetching():
        fetch_modules(npm, FOLDER, FOLDER / "package-lock.json")
    found = sorted((FOLDER / "node_modules" / "@anthropic-ai").glob("claude-code-*/claude"))
    if not found:
        pytest.skip("npm has no Claude Code for this platform")
    return found[0]


async def run_claude(
    program: Path, server: Gateway, folder: Path, prompt: str, *options: str, **variables: str
) -> tuple[int, str]:
    """Exit code and last message of one session, in a home of its own."""
    home = folder / "home"
    home.mkdir()
    environment = {
        "HOME": str(home), "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_AUTH_TOKEN": server.key, "ANTHROPIC_MODEL": "claude-alias", "ANTHROPIC_SMALL_FAST_MODEL": "SvcLLM",
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": "SvcLLM", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
        "GATEWAY_KEY": server.key, **variables,
    }  # fmt: skip
    command = [str(program), "-p", prompt, "--output-format", "json", "--strict-mcp-config", *options]
    code, out, err = await run(command, folder=folder, env=environment)
    assert out, err[-2000:]
    return code, str(json.loads(out)["result"])


async def start(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(toml(upstream).replace("['assistant']", "['claude-alias']"))


async def test_claude_code_runs_its_tool_and_ends_with_the_answer(serve: Serve, tmp_path: Path, claude: Path) -> None:
    (tmp_path / "note.txt").write_text("the number is 4711\n")

    async def reading(exchange: up.Exchange) -> None:
        """A model that reads the file with the client's tool, then tells what stands there."""
        last = exchange.seen.body["messages"][-1]
        if last["role"] == "tool":
            found = "4711" if "4711" in last["content"] else "nothing"
            await up.stream(*up.text_stream([f"It is {found}."]))(exchange)
            return
        arguments = json.dumps({"file_path": str(tmp_path / "note.txt")})
        thought = up.chunk({"reasoning_content": "I look"})
        await up.stream(thought, *up.call_stream(up.called("Read", arguments), 9))(exchange)

    serve.upstream.will(reading)
    server = await start(serve, serve.upstream)
    code, result = await run_claude(claude, server, tmp_path, "Which number is in note.txt?", "--allowedTools", "Read")
    assert (code, result) == (0, "It is 4711.")
    bodies = [seen.body for seen in serve.upstream.seen]
    assert bodies[-1]["messages"][-1]["role"] == "tool" and bodies[-1]["messages"][0]["role"] == "system"
    assert "x-anthropic-billing-header" not in str(bodies) and "device_id" not in str(bodies)
    assert {tool["function"]["name"] for tool in bodies[0]["tools"]} >= {"Read", "Bash", "Edit"}


async def test_each_turn_before_a_native_upstream_begins_with_what_the_one_before_sent(
    serve: Serve, upstream: Upstream, tmp_path: Path, claude: Path
) -> None:
    """Twenty files with a mail address each, read one after the other, masked. The client itself sets the marks of its
    prompt cache anew each time, and makes a block of a text that gets one."""
    for number in range(_FILES):
        (tmp_path / f"note{number}.txt").write_text(f"mail user{number}@posthaus.org, or jane.doe@posthaus.org\n")

    async def reading(exchange: up.Exchange) -> None:
        body = exchange.seen.body
        done = sum(block["type"] == "tool_result" for block in blocks_of(body))
        path = {"file_path": str(tmp_path / f"note{done}.txt")}
        call = None if done == _FILES else (f"toolu_{done}", "Read", path)
        await up.stream(*native_events(f"msg_{done}", f"note {done} of {body['model']}", call))(exchange)

    upstream.will(reading)
    masked = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat"]\nprofile = "reversible"\n'
    config = toml(upstream, messages="'native'").replace("['assistant']", "['claude-alias']")
    server = await serve(config + masked)
    code, result = await run_claude(claude, server, tmp_path, "Read the notes", "--allowedTools", "Read")
    assert code == 0 and result.startswith(f"note {_FILES} of"), result
    sent = [seen.body for seen in upstream.seen if seen.path.endswith("/messages") and seen.body.get("tools")]
    turns = [without_marks(body["messages"]) for body in sent if blocks_of(body)]
    assert len(turns) >= _FILES and "posthaus" not in str(turns) and f"[EMAIL_{_FILES}]" in str(turns[-1])
    for before, after in itertools.pairwise(turns):
        assert after[: len(before)] == before
    signed = [block for block in blocks_of(sent[-1]) if block["type"] == "thinking"]
    assert all(block["signature"] == "c2lnbmVk" for block in signed)


def blocks_of(body: Any) -> list[Any]:
    return [block for each in body["messages"] if isinstance(each["content"], list) for block in each["content"]]


def without_marks(value: Any) -> Any:
    """A copy without `cache_control`, below any depth; a content that is a text becomes a block."""
    if isinstance(value, dict):
        made = {name: without_marks(each) for name, each in value.items() if name != "cache_control"}
        text = made.get("content")
        return {**made, "content": [{"type": "text", "text": text}]} if isinstance(text, str) else made
    return [without_marks(each) for each in value] if isinstance(value, list) else value


def native_events(name: str, text: str, call: tuple[str, str, Any] | None) -> list[bytes]:
    """A stream in Anthropic's form: signed thoughts, then a call or a text."""
    thought = {"type": "thinking", "thinking": "about [EMAIL_1]", "signature": "c2lnbmVk"}
    block = text if call is None else {"type": "tool_use", "id": call[0], "name": call[1], "input": call[2]}
    return up.message_stream(up.message(thought, block, stop="tool_use" if call else "end_turn", id=name))


STATUS = "mcp__websearch__websearch-search_status"


@pytest.mark.parametrize("messages", ["chat", "native"])
@pytest.mark.parametrize("searches", [False, True], ids=["at once", "by a search"])
async def test_claude_code_calls_the_web_tools_by_the_printed_configuration(
    serve: Serve, upstream: Upstream, tmp_path: Path, claude: Path, searches: bool, messages: str
) -> None:
    """With `ENABLE_TOOL_SEARCH` its tools of MCP servers wait until the model has searched for them."""
    calls = [("ToolSearch", {"query": f"select:{STATUS}"})] if searches else []
    calls.append((STATUS, {}))
    offered = []

    async def asking(exchange: up.Exchange) -> None:
        """A model that calls a web tool of the gateway, through the client."""
        body, is_native = exchange.seen.body, messages == "native"
        tools = {(tool if is_native else tool["function"])["name"]: tool for tool in body.get("tools") or ()}
        results = [each for each in body["messages"] if each["role"] == "tool"]
        results += [block for block in blocks_of(body) if block["type"] == "tool_result"] if is_native else []
        name, arguments = calls[len(results)] if len(results) < len(calls) else ("", {})
        text = "It has one." if "search_provider" in str(results[-1:]) else "None."
        if tools:
            offered.append(STATUS in tools and not tools[STATUS].get("defer_loading"))
        if is_native:
            call = (f"toolu_{len(results)}", name, arguments) if name else None
            await up.stream(*native_events(f"msg_{len(results)}", text, call))(exchange)
        elif name:
            made = up.called(name, json.dumps(arguments), f"call_{len(results)}")
            await up.stream(*up.call_stream(made))(exchange)
        else:
            await up.stream(*up.text_stream([text]))(exchange)

    upstream.will(asking)
    server = await serve(toml(upstream, messages=f"'{messages}'").replace("['assistant']", "['claude-alias']"))
    text = client_text("claude-code", ClientSettings(server.url, "SvcLLM", 0, None))
    assert "ENABLE_TOOL_SEARCH=true" in text
    (tmp_path / "mcp.json").write_text(text[text.index("\n{") : text.index("\n}") + 2])
    options = ["--mcp-config", str(tmp_path / "mcp.json"), "--allowedTools", STATUS]
    variables = {"ENABLE_TOOL_SEARCH": str(searches).lower()}
    code, result = await run_claude(claude, server, tmp_path, "Is there a provider?", *options, **variables)
    assert (code, result) == (0, "It has one."), upstream.last.body["messages"][-1]
    assert offered[0] is not searches and (offered[-1] or messages == "native")


async def test_the_web_search_of_claude_code_is_run_here(serve: Serve, tmp_path: Path, claude: Path) -> None:
    async def searching(exchange: up.Exchange) -> None:
        """A model that calls the client's search tool, and searches when it is asked to by that."""
        body = exchange.seen.body
        last, names = body["messages"][-1], {tool["function"]["name"] for tool in body.get("tools") or ()}
        if last["role"] == "tool":
            is_found = "https://a.example.com/paris" in str(last["content"])
            await round_of("It is Paris [1]." if "web_search" in names else f"Found: {is_found}")(exchange)
        elif "web_search" in names:
            await round_of(search())(exchange)
        else:
            await round_of(call("WebSearch", query="capital of France"))(exchange)

    async with scene(serve) as stage:
        stage.model.will(searching)
        alias = {"ANTHROPIC_MODEL": "SvcLLM"}
        options = ["--allowedTools", "WebSearch"]
        code, result = await run_claude(claude, stage.server, tmp_path, "Capital of France?", *options, **alias)
        assert (code, result) == (0, "Found: True"), stage.sent[-1]["messages"]
        assert set(stage.provider.asked) == {"capital of France"}


async def test_claude_code_tells_that_the_upstream_died(serve: Serve, tmp_path: Path, claude: Path) -> None:
    serve.upstream.will(up.answer({"error": {"message": "no such thing"}}, status=400))
    server = await start(serve, serve.upstream)
    code, result = await run_claude(claude, server, tmp_path, "hello")
    assert code != 0 and "no such thing" in result
