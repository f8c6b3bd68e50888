"""A secret where nobody looks for one: none leaves in a request, and none comes back in an answer.

`test_every_place` puts secrets at every string of bodies of the usual shapes; here the shapes are unusual ones: other
encodings, values split over messages and parts, numbers, tools of other interfaces, and tools for the web.
"""

import base64
import contextlib
import gzip
import html
import json
import quopri
from typing import Any
from urllib.parse import unquote

import orjson
import pytest

from tests.flows.test_embeddings import vectors
from tests.support import upstream as up
from tests.support.asking import CHAT, MESSAGES, OFF, RESPONSES, send
from tests.support.doors import body_for
from tests.support.gateways import Gateway, Serve
from tests.support.hosted_search import scene
from tests.support.paths import GOLDEN
from tests.support.upstream import Upstream
from tests.support.web_tools import tool_call
from tests.support.web_tools_site import PATH

KEY = "ghp_" + "x8Kq2mZ7vR4tB9nW1cY6pL3sD5fG0hJaQeUi"  # a made-up key of a real form
CARD = "4539148803436467"
SAID = f"the key is {KEY} ok"
SETTINGS = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["websearch", "chat", "responses", "embeddings"]\n'


def recorded(name: str) -> Any:
    """Rows of `tests/golden`, where the key has no place of its own for those who look for keys in files."""
    return json.loads((GOLDEN / f"{name}.json").read_text().replace("{KEY}", KEY))


def spellings(raw: str) -> list[str]:
    """What a reader may make of a body: escapes undone twice, entities, percents, base64 decoded."""
    texts = [raw]
    for _ in range(2):
        texts.append(texts[-1].replace('\\"', '"').replace("\\\\", "\\"))
    texts += [html.unescape(raw), unquote(raw), unquote(unquote(raw))]
    texts.append(quopri.decodestring(raw.encode()).decode("latin1"))
    with contextlib.suppress(orjson.JSONDecodeError):
        texts.append(orjson.dumps(orjson.loads(raw)).decode())
    words = "".join(char if char.isalnum() or char in "+/" else " " for char in raw).split()
    for word in (each for each in words if len(each) > 40):
        decoded = base64.b64decode(word[: len(word) // 4 * 4], validate=False)
        texts += [decoded.decode("latin1"), decoded.decode("utf-16", "ignore")]
        if decoded[:2] == b"\x1f\x8b":
            texts.append(gzip.decompress(decoded).decode("latin1"))
    return texts + [text.replace("\u00ad", "").replace("\u034f", "").replace("\u200b", "") for text in texts]


def holds(raw: str) -> bool:
    full_width = "".join(chr(ord(c) + 0xFEE0) for c in KEY)
    return any(secret in text for text in spellings(raw) for secret in (KEY, CARD, full_width, KEY[:24]))


def toml(upstream: Upstream, form: str = "translate") -> str:
    behind = f"[[models.upstreams]]\nbase_url = '{upstream.url}'\nmodel = 'm'\n"
    text = f"[[models]]\nname = 'SvcLLM'\n{behind}responses = '{form}'\n"
    return f"{text}[[models]]\nname = 'Vectors'\nkind = 'embedding'\n{behind}{OFF}\n{SETTINGS}"


async def posted(server: Gateway, path: str, body: Any) -> tuple[int, str]:
    """Status and answer as text, a line an event."""
    status, answer, _ = await send(server, path, body)
    return status, "\n".join(orjson.dumps(each).decode() for each in (answer if isinstance(answer, list) else [answer]))


@pytest.mark.parametrize("form", ["translate", "native"])
async def test_no_unusual_place_of_a_request_lets_a_secret_out(serve: Serve, upstream: Upstream, form: str) -> None:
    server = await serve(toml(upstream, form))
    leaks, reached = [], 0
    for row in recorded("unusual_requests"):
        name, path, body = row["case"], row["path"], row["body"]
        upstream.will(up.answer(vectors([0.5, 0.5])) if path == "/v1/embeddings" else up.answer())
        before = len(upstream.seen)
        status, told = await posted(server, path, body)
        sent = [orjson.dumps(seen.body).decode() for seen in upstream.seen[before:]]
        if any(map(holds, sent)) or holds(told):
            leaks.append(name)
        reached += len(sent)
        assert status < 500 or path == "/v1/responses", (name, told)
    assert leaks == [] and reached > 25


def joined(raw: str) -> str:
    """The strings of a stream's events, joined by their place."""
    fields: dict[str, list[str]] = {}

    def walk(value: Any, place: str) -> None:
        if isinstance(value, dict):
            for name, each in value.items():
                fields.setdefault("names", []).append(name + " ")
                walk(each, f"{place}.{name}")
        elif isinstance(value, list):
            for each in value:
                walk(each, place)
        elif isinstance(value, str):
            fields.setdefault(place, []).append(value)

    for line in raw.splitlines():
        walk(orjson.loads(line), "")
    return "\n".join("".join(texts) for texts in fields.values())


async def test_no_unusual_place_of_an_answer_lets_a_secret_in(serve: Serve, upstream: Upstream) -> None:
    server = await serve(toml(upstream))
    leaks = []
    for row in recorded("unusual_answers"):
        chunks = row.get("chunks") or [{"choices": [{"index": 0, "delta": each}]} for each in row.get("deltas", ())]
        is_streamed, name = bool(chunks), row["case"]
        stream = up.stream(*map(up.frame, chunks), up.chunk({}, "stop"), up.DONE)
        for path in (CHAT, RESPONSES, MESSAGES):
            upstream.will(stream if is_streamed else up.answer(row["answer"]))
            _, told = await posted(server, path, body_for(path, "x", stream=is_streamed))
            shown = joined(told) if is_streamed else told
            escaped = "".join(f"\\u{ord(c):04x}" for c in KEY)
            if holds(told) or holds(shown) or escaped in shown:
                leaks.append((name, path))
    assert leaks == []


PAGE = (GOLDEN / "page_of_secrets.html").read_text().replace("{KEY}", KEY)
PAGE = PAGE.replace("{KEY BEGINS}", KEY[:20]).replace("{KEY ENDS}", KEY[20:])


async def called_tool(server: Gateway, tool: str, **arguments: Any) -> str:
    return orjson.dumps((await send(server, PATH, tool_call(tool, arguments)))[1]).decode()


@pytest.mark.slow
async def test_no_part_of_a_result_or_page_lets_a_secret_in_nor_a_query_out(serve: Serve) -> None:
    async with scene(serve, '[sanitize]\nroutes = ["websearch"]\n') as found:
        found.provider.results = [
            {"title": SAID, "url": f"https://a.example.org/?access_token={KEY}", "content": SAID, "engine": KEY},
            {"title": "x", "url": f"https://u:{KEY}@b.test/", "content": "y", "publishedDate": KEY, "img_src": KEY},
        ]
        told = await called_tool(found.server, "search", query=f"who owns {KEY}", include_images=True)
        assert not holds(told) and '"error"' not in told[:200]
        assert not any(map(holds, found.provider.asked))
        found.site.pages["/notes"] = PAGE
        for depth in ("basic", "advanced"):
            more = {"extract_depth": depth, "include_images": True}
            told = await called_tool(found.server, "extract", urls=[f"{found.site.url}/notes"], **more)
            assert "set up last week" in told and not holds(told), depth
