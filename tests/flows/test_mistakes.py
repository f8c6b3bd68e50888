# ruff: noqa: E501 - a table is read by rows
"""The likeliest mistakes of people and programs, and the words they get: what is wrong, where, and what to do.

A row is `(what was done, request, status, code, words)`; the words must stand in the message. `@` in a header is a good
key, `@chat` one with the scope `chat` alone.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.cli.main import main
from gateway.embedded.servers import Embedded, EmbeddedUpstream
from tests.support.gateways import InProcessGateway, StartGateway, upstream_toml
from tests.support.upstream import answer, scripted_upstream

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
EMBEDDINGS, MCP = "/v1/embeddings", "/tools/websearch/mcp"
HELLO = [{"role": "user", "content": "hi"}]
Row = tuple[str, tuple[Any, ...], int, str, tuple[str, ...]]


def chat(**fields: Any) -> tuple[Any, ...]:
    return ("POST", CHAT, {"model": "SvcLLM", "messages": HELLO, **fields})


def said(**message: Any) -> tuple[Any, ...]:
    return chat(messages=[message])


def responses(**fields: Any) -> tuple[Any, ...]:
    return ("POST", RESPONSES, {"model": "SvcLLM", "input": "hi", **fields})


def messages(**fields: Any) -> tuple[Any, ...]:
    return ("POST", MESSAGES, {"model": "SvcLLM", "max_tokens": 5, "messages": HELLO, **fields})


def ocr(*parts: Any) -> tuple[Any, ...]:
    return ("POST", CHAT, {"model": "SvcOCR", "messages": [{"role": "user", "content": list(parts)}]})


def tool(name: str, **arguments: Any) -> tuple[Any, ...]:
    call = {"name": name, "arguments": arguments}
    return ("POST", MCP, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})


def headed(request: tuple[Any, ...], **headers: str | None) -> tuple[Any, ...]:
    return (*request, {name.replace("_", "-"): value for name, value in headers.items()})


TOOL = {"type": "function", "name": "add", "parameters": {"type": "object", "properties": {}}}
PROMPT = {"type": "text", "text": "<image>\nFree OCR."}


def picture(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


KEYS: list[Row] = [
    ("no key", headed(chat(), Authorization=None), 401, "invalid_api_key", ("no API key was sent", "Authorization: Bearer")),
    ("a variable that is empty", headed(chat(), Authorization="Bearer "), 401, "invalid_api_key", ("empty variable",)),
    ("the key without Bearer", headed(chat(), Authorization="@"), 401, "invalid_api_key", ("does not begin with 'Bearer '",)),
    ("Basic", headed(chat(), Authorization="Basic YTpi"), 401, "invalid_api_key", ("another scheme", "Bearer")),
    ("a key of elsewhere", headed(chat(), Authorization="Bearer sk-x"), 401, "invalid_api_key", ("not valid", "operator")),
    ("a variable not put in", headed(chat(), Authorization="Bearer $KEY"), 401, "invalid_api_key", ("not valid",)),
    ("a key without the scope", headed(responses(), Authorization="Bearer @chat"), 403, "insufficient_scope", ("scope responses",)),
    ("tools without the scope", headed(tool("websearch-search", query="x"), Authorization="Bearer @chat"), 403,
     "insufficient_scope", ("scope web-search",)),
    ("two keys", headed(chat(), X_Api_Key="other"), 400, "invalid_value", ("differ", "send one")),
]  # fmt: skip
PATHS: list[Row] = [
    ("GET", ("GET", CHAT, None), 405, "method_not_allowed", ("allowed: POST",)),
    ("/v1 twice", ("POST", "/v1" + CHAT, {}), 404, "not_found", (f"did you mean {CHAT}?", RESPONSES)),
    ("no /v1", ("POST", "/chat/completions", {}), 404, "not_found", (f"did you mean {CHAT}?",)),
    ("a slash too many", ("POST", CHAT + "/", {}), 404, "not_found", (f"did you mean {CHAT}?",)),
    ("the old completions", ("POST", "/v1/completions", {}), 404, "not_found", (f"did you mean {CHAT}?",)),
    ("a letter missing", ("POST", "/v1/response", {}), 404, "not_found", (f"did you mean {RESPONSES}?",)),
    ("/mcp alone", ("POST", "/mcp", {}), 404, "not_found", (f"did you mean {MCP}?",)),
    ("the SSE transport of old", ("GET", "/tools/websearch/sse", None), 404, "not_found", (MCP,)),
    ("something else", ("GET", "/admin", None), 404, "not_found", ("the paths are",)),
    ("GET on MCP", ("GET", MCP, None), 405, "method_not_allowed", ("allowed: POST",)),
    ("a stored response", ("GET", RESPONSES + "/resp_none", None), 404, "response_not_found", ("resp_none", "expire")),
]  # fmt: skip
BODIES: list[Row] = [
    ("plain text", ("POST", CHAT, "hello"), 400, "invalid_json", ("line 1, column 1",)),
    ("quotes of Python", ("POST", CHAT, "{'model': 1}"), 400, "invalid_json", ("line 1, column 2",)),
    ("a comma too many", ("POST", CHAT, '{"model": "SvcLLM",}'), 400, "invalid_json", ("line 1",)),
    ("nothing", ("POST", CHAT, ""), 400, "invalid_json", ("body is empty",)),
    ("a list", ("POST", CHAT, "[]"), 400, "invalid_value", ("must be an object",)),
    ("bytes of no text", ("POST", CHAT, b"\xff\xfe"), 400, "invalid_json", ("line 1",)),
    ("no number", ("POST", CHAT, '{"model": NaN}'), 400, "invalid_json", ("line 1",)),
    ("2,000 brackets", ("POST", CHAT, "[" * 2000), 400, "invalid_json", ("depth limit",)),
    ("an unknown coding", headed(("POST", CHAT, "{}"), Content_Encoding="br"), 415, "unsupported_media_type", ("gzip",)),
    ("a form", headed(("POST", CHAT, "model=x"), Content_Type="application/x-www-form-urlencoded"), 415,
     "unsupported_media_type", ("application/json",)),
]  # fmt: skip
CHATS: list[Row] = [
    ("no model", ("POST", CHAT, {"messages": HELLO}), 400, "invalid_value", ("model: is required",)),
    ("a model of elsewhere", chat(model="gpt-4o"), 404, "model_not_found", ("available: ", "SvcLLM")),
    ("a model in small letters", chat(model="svcllm"), 404, "model_not_found", ("did you mean 'SvcLLM'",)),
    ("no messages", ("POST", CHAT, {"model": "SvcLLM"}), 400, "invalid_value", ("messages: is required",)),
    ("no message", chat(messages=[]), 400, "invalid_value", ("messages: must have at least 1 item",)),
    ("a text for messages", chat(messages="hi"), 400, "invalid_value", ("messages: must be an array",)),
    ("no role", said(content="x"), 400, "invalid_value", ("messages[0].role: is required",)),
    ("the role human", said(role="human", content="x"), 400, "invalid_value", ("messages[0].role", "user, assistant")),
    ("no content", said(role="user", content=None), 400, "invalid_value", ("messages[0].content", "string or an array")),
    ("temperature as text", chat(temperature="0.5"), 400, "invalid_value", ("temperature: must be a number", "not a string")),
    ("temperature 3", chat(temperature=3), 400, "invalid_value", ("temperature: must be at most 2",)),
    ("max_tokens 0", chat(max_tokens=0), 400, "invalid_value", ("max_tokens: must be at least 1",)),
    ("max_tokens as text", chat(max_tokens="9"), 400, "invalid_value", ("max_tokens: must be an integer",)),
    ("stream as text", chat(stream="true"), 400, "invalid_value", ("stream: must be true or false",)),
    ("tools as an object", chat(tools={"a": 1}), 400, "invalid_value", ("tools: must be an array",)),
    ("a tool without type", chat(tools=[{"name": "f"}]), 400, "invalid_value", ("tools[0].type: is required",)),
    ("tool_choice always", chat(tool_choice="always"), 400, "invalid_value", ("auto or none or required",)),
    ("too many stops", chat(stop=["a"] * 17), 400, "invalid_value", ("stop: must have at most 16 items",)),
    ("n 500", chat(n=500), 400, "invalid_value", ("n: must be at most 128, not 500",)),
    ("response_format as text", chat(response_format="json"), 400, "invalid_value", ("response_format: must be an object",)),
    ("a file for a picture", said(role="user", content=[picture("file:///x.png")]), 400, "invalid_value", ("http(s) or data:",)),
    ("an embedding model", chat(model="SvcEmbedding"), 400, "invalid_value", ("/v1/embeddings",)),
    ("top_p 2", chat(top_p=2), 400, "invalid_value", ("top_p: must be at most 1",)),
    ("a part without its text", said(role="user", content=[{"type": "text"}]), 400, "invalid_value", ("messages[0].content[0].text",)),
    ("a part without its picture", said(role="user", content=[{"type": "image_url"}]), 400, "invalid_value", ("messages[0].content[0].image_url",)),
    ("a format of no type", chat(response_format={"type": 1}), 400, "invalid_value", ("response_format.type",)),
    ("a model as a number", chat(model=5), 400, "invalid_value", ("model: must be a string",)),
    ("penalty 9", chat(presence_penalty=9), 400, "invalid_value", ("presence_penalty: must be at most 2",)),
]  # fmt: skip
READING: list[Row] = [
    ("no picture", ocr(PROMPT), 400, "missing_image", ("no image",)),
    ("no prompt", ocr(picture("data:image/png;base64,iVBORw0KGgo=")), 400, "missing_text", ("no text part",)),
    ("a path", ocr(PROMPT, picture("scan.png")), 400, "invalid_image_url", ("http or https URL or a base64 data URL",)),
    ("base64 without its head", ocr(PROMPT, picture("iVBORw0KGgo=")), 400, "invalid_image_url", ("data:image/png;base64",)),
    ("wrong base64", ocr(PROMPT, picture("data:image/png;base64,@@")), 400, "invalid_image_url", ("standard base64",)),
    ("half a picture", ocr(PROMPT, picture("data:image/png;base64,iVBORw0KGgo=")), 400, "invalid_image_format", ("whole file",)),
    ("a word document", ocr(PROMPT, picture("data:image/png;base64,UEsDBBQ=")), 400, "invalid_image_format", ("PNG",)),
]  # fmt: skip
ANSWERS: list[Row] = [
    ("no input", ("POST", RESPONSES, {"model": "SvcLLM"}), 400, "invalid_value", ("input: is required",)),
    ("messages for input", ("POST", RESPONSES, {"model": "SvcLLM", "messages": HELLO}), 400, "invalid_value", ("input: is required",)),
    ("a number for input", responses(input=5), 400, "invalid_value", ("input: must be a string or an array",)),
    ("an empty input", responses(input=[]), 400, "invalid_value", ("input: must hold a message",)),
    ("an item of a robot", responses(input=[{"role": "robot", "content": "x"}]), 400, "invalid_value", ("input[0].role",)),
    ("an item without content", responses(input=[{"role": "user"}]), 400, "invalid_value", ("input[0].content",)),
    ("a part without text", responses(input=[{"role": "user", "content": [{"type": "input_text"}]}]), 400, "invalid_value",
     ("input[0].content[0].text",)),
    ("include as text", responses(include="all"), 400, "invalid_value", ("include: must be an array",)),
    ("an output of no call", responses(input=[{"type": "function_call_output", "call_id": "z", "output": "x"}]), 400,
     "invalid_value", ("call_id",)),
    ("a choice that is no tool", responses(tool_choice={"type": "function", "name": "nope"}, tools=[TOOL]), 400, "invalid_value",
     ("tool_choice",)),
    ("a background run that is not stored", responses(background=True, store=False), 400, "invalid_value", ("background",)),
    ("max_output_tokens 0", responses(max_output_tokens=0), 400, "invalid_value", ("max_output_tokens: must be at least 1",)),
    ("an old response", responses(previous_response_id="resp_x"), 400, "previous_response_not_found", ("whole conversation",)),
    ("an MCP address", responses(tools=[{"type": "mcp", "server_label": "x", "server_url": "http://x"}]), 400,
     "invalid_value", ("server_label", "operator has configured")),
    ("an unknown MCP label", responses(tools=[{"type": "mcp", "server_label": "nope"}]), 403, "insufficient_scope", ("mcp:nope",)),
    ("no max_tokens", ("POST", MESSAGES, {"model": "SvcLLM", "messages": HELLO}), 400, "invalid_value", ("max_tokens: is required",)),
    ("only a system message", messages(messages=[{"role": "system", "content": "x"}]), 400, "invalid_value", ("message of a user",)),
    ("no messages there", ("POST", MESSAGES, {"model": "SvcLLM", "max_tokens": 5}), 400, "invalid_value", ("messages: is required",)),
    ("Claude by name", messages(model="claude-sonnet-4-5"), 404, "model_not_found", ("available: ",)),
    ("a result without its call", messages(messages=[{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}]),
     400, "invalid_value", ("tool_use_id", "no tool_use block")),
    ("no input to embed", ("POST", EMBEDDINGS, {"model": "SvcEmbedding"}), 400, "invalid_value", ("input: is required",)),
    ("a text model to embed", ("POST", EMBEDDINGS, {"model": "SvcLLM", "input": "x"}), 400, "invalid_value", (CHAT,)),
]  # fmt: skip
TOOLS: list[Row] = [
    ("no method", ("POST", MCP, {"jsonrpc": "2.0", "id": 1}), 400, "", ("method: is required",)),
    ("no JSON-RPC", ("POST", MCP, {"query": "x"}), 400, "", ("jsonrpc: is required",)),
    ("a tool as a method", ("POST", MCP, {"jsonrpc": "2.0", "id": 1, "method": "search"}), 200, "", ("tools/call", "tools/list")),
    ("a short name", tool("search", query="x"), 200, "", ("did you mean websearch-search", "websearch-map")),
    ("a letter changed", tool("websearch-serach", query="x"), 200, "", ("did you mean websearch-search", "websearch-map")),
    ("no arguments", ("POST", MCP, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "websearch-search"}}),
     200, "", ("query: is required",)),
    ("an empty query", tool("websearch-search", query=""), 200, "", ("query: must have at least 1 character",)),
    ("q for query", tool("websearch-search", q="x"), 200, "", ("query: is required", "q: is unknown", "allowed: query")),
    ("100 results", tool("websearch-search", query="x", max_results=100), 200, "", ("max_results: must be at most 20",)),
    ("many results", tool("websearch-search", query="x", max_results="many"), 200, "", ("max_results: must be an integer",)),
    ("depth deep", tool("websearch-search", query="x", search_depth="deep"), 200, "", ("basic, advanced",)),
    ("a date of America", tool("websearch-search", query="x", start_date="01/02/2025"), 200, "", ("YYYY-MM-DD",)),
    ("a decade", tool("websearch-search", query="x", time_range="decade"), 200, "", ("day, week, month, year",)),
    ("url for urls", tool("websearch-extract", url="https://a.example"), 200, "", ("urls: is required", "url: is unknown")),
    ("no urls", tool("websearch-extract", urls=[]), 200, "", ("urls: must have at least 1 item",)),
    ("21 urls", tool("websearch-extract", urls=["https://a.example"] * 21), 200, "", ("urls: must have at most 20 items",)),
    ("ftp", tool("websearch-extract", urls=["ftp://a.example/"]), 200, "", ("http",)),
    ("this machine", tool("websearch-extract", urls=["http://127.0.0.1:8123/"]), 200, "", ("not public", "web.allow_private")),
    ("a file", tool("websearch-extract", urls=["/etc/passwd"]), 200, "", ("could not be read",)),
    ("depth 9", tool("websearch-crawl", url="https://a.example", max_depth=9), 200, "", ("max_depth: must be at most 5",)),
    ("half a pattern", tool("websearch-crawl", url="https://a.example", select_paths=["("]), 200, "", ("regular expression", "RE2")),
    ("urls for url", tool("websearch-crawl", urls=["https://a.example"]), 200, "", ("url: is required", "urls: is unknown")),
    ("no url", tool("websearch-map"), 200, "", ("url: is required",)),
]  # fmt: skip
ROWS = [*KEYS, *PATHS, *BODIES, *CHATS, *READING, *ANSWERS, *TOOLS]


@pytest.fixture
async def server(start_gateway: StartGateway) -> AsyncIterator[InProcessGateway]:
    async def wake() -> None:
        return None

    async with scripted_upstream() as upstream:
        upstream.will(answer())
        embedded = Embedded(ocr=EmbeddedUpstream(upstream.url, "embedded-ocr", wake))
        yield await start_gateway(upstream_toml(upstream.url) + "[guardrail]\nenabled = 'off'\n", embedded)


async def told(server: InProcessGateway, chat_key: str, request: tuple[Any, ...]) -> tuple[int, str, str]:
    method, path, body, headers = (*request, {})[:4]
    all_headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json", **headers}
    kept = {
        name: value.replace("@chat", chat_key).replace("@", server.key)
        for name, value in all_headers.items()
        if value is not None
    }
    data = body if isinstance(body, (str, bytes)) or body is None else json.dumps(body)
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session,
        session.request(method, server.url + path, headers=kept, data=data) as reply,
    ):
        document = await reply.json()
    if "result" in document:
        document = json.loads(document["result"]["content"][0]["text"])["data"]
    error = document["error"]
    return reply.status, str(error.get("data", {}).get("code", error.get("code", ""))), error["message"]


async def test_each_mistake_gets_words_that_say_what_to_do(server: InProcessGateway) -> None:
    """In one test: a gateway for each of a hundred rows would take minutes."""
    chat_key = server.make_key("chat")
    assert len(ROWS) >= 100 and len({(row[0], str(row[1])) for row in ROWS}) == len(ROWS)
    wrong = []
    for what, request, status, code, words in ROWS:
        got = await told(server, chat_key, request)
        if got[0] != status or (code and got[1] != code) or not all(word in got[2] for word in words):
            wrong.append((what, got))
        assert server.key not in got[2]
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
