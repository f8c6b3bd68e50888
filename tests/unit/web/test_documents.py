"""The documentation pages and the OpenAPI document, over real sockets."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import jsonschema_rs
import pytest
from aiohttp import ClientSession

from tests.support.gateways import Gateway, Serve


@pytest.fixture
async def server(serve: Serve) -> Gateway:
    return await serve("")


@pytest.fixture
async def session(server: Gateway) -> AsyncIterator[ClientSession]:
    async with ClientSession(server.ops_url) as session:
        yield session


async def page(session: ClientSession, path: str) -> str:
    async with session.get(path) as reply:
        assert reply.status == 200, path
        return await reply.text()


async def test_every_link_of_every_page_leads_to_a_page_and_an_anchor(session: ClientSession) -> None:
    names = re.findall(r'<li><a href="([\w-]+)">', await page(session, "/docs/"))
    assert {"configuration", "interface", "console", "errors"} <= set(names)
    texts = {name: await page(session, f"/docs/{name}") for name in names}
    broken = []
    for name, text in texts.items():
        for link in re.findall(r'<a href="([^"]+)"', text):
            if re.match(r"[a-z]+:|/openapi|/$|/docs/$", link):
                continue
            target, _, anchor = link.partition("#")
            found = target.rsplit("/", 1)[-1].removesuffix(".md").lower() or name
            if target.endswith((".json", ".png")) or (target and not target.endswith(".md") and "/docs/" not in target):
                continue  # a file of the repository, which is read there
            if found not in texts or (anchor and f'id="{anchor}"' not in texts[found]):
                broken.append(f"{name}: {link}")
    assert broken == []


async def test_a_page_has_contents_anchors_and_a_search_over_all_sections(session: ClientSession) -> None:
    text = await page(session, "/docs/keys-and-limits")
    assert '<a href="#what-a-key-may-do-its-scopes">What a key may do: its scopes</a>' in text
    assert '<h2 id="what-a-key-may-do-its-scopes">' in text
    async with session.get("/docs/search.json") as reply:
        sections = await reply.json()
    (scopes,) = [each for each in sections if each["page"] == "keys-and-limits" and each["anchor"].endswith("scopes")]
    assert "web-search" in scopes["text"] and scopes["title"] == "Keys and limits"
    async with session.get("/docs", allow_redirects=False) as reply:
        assert reply.status == 301 and reply.headers["Location"] == "/docs/"
    async with session.get("/docs/pictures/status.png") as reply:
        assert reply.content_type == "image/png"
    for missing in ("/docs/pictures/none.png", "/docs/nothing"):
        async with session.get(missing) as reply:
            assert reply.status == 404


def references(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from references(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name == "$ref" and isinstance(each, str):
                yield each
            yield from references(each)


async def test_every_route_stands_in_the_openapi_document_with_its_schemas(session: ClientSession) -> None:
    async with session.get("/openapi.json") as reply:
        document = await reply.json()
    components = document["components"]["schemas"]
    assert document["openapi"] == "3.1.0" and document["servers"] == [{"url": "/api"}]
    assert {"/v1/chat/completions", "/tools/websearch/mcp", "/admin/usage"} <= document["paths"].keys()
    parts = {f"#/components/{kind}/{name}" for kind, each in document["components"].items() for name in each}
    assert set(references(document)) <= parts
    ids = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(ids) == len(set(ids))
    whole = {"$ref": "#/components/schemas/ChatRequest", "components": {"schemas": components}}
    check = jsonschema_rs.validator_for(whole)
    assert check.is_valid({"model": "SvcLLM", "messages": [{"role": "user", "content": "x"}]})
    assert not check.is_valid({"model": "SvcLLM", "messages": [{"role": "robot", "content": "x"}]})


async def test_the_interface_page_tells_fields_and_what_they_may_be(session: ClientSession) -> None:
    text = await page(session, "/docs/interface")
    assert "POST /v1/chat/completions" in text and "Needs a key with the scope chat or ocr" in text
    assert re.search(r"<code>max_results</code></td>\s*<td>integer 1 to 20</td>", text)
    assert "<code>query</code> (required)" in text
