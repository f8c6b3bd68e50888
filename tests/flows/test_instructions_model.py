"""Crawl instructions refined by a configured language model, through the whole gateway."""

import json
from typing import Any

import pytest

from gateway.access.usage import read_usage
from gateway.shared_state.sqlite_state import STATE_FILE
from tests.support.asking import call_tool
from tests.support.gateways import Gateway, Serve
from tests.support.upstream import Upstream, answer, completion
from tests.support.websites import Site, page, serving, urls

FRUIT = "A fruit that grows on trees in the orchard, and is eaten in autumn. "


def fruit_site() -> Site:
    return Site(
        {
            "/": page("Fruit", FRUIT * 3, "/apples", "/laptops"),
            "/apples": page("Pomes", "Crisp and round, they hang on trees from August on. " * 4),
            "/laptops": page("Apples", "Apples by the dozen: the laptops of that maker, and their prices. " * 4),
        }
    )


def toml(site: Site, upstream: Upstream) -> str:
    return (
        f"[[models]]\nname = 'SvcLLM'\n[[models.upstreams]]\nbase_url = '{upstream.url}'\nmodel = 'm'\n"
        f"[web]\nallow_private = ['{site.address}']\ninstructions_model = 'SvcLLM'\n"
        "[guardrail]\nenabled = 'off'\n[local_llm]\nenabled = false\n[local_ocr]\nenabled = false\n"
    )


async def crawled(server: Gateway, root: str) -> Any:
    return (await call_tool(server, "crawl", {"url": root, "instructions": "apples"}))[1]


@pytest.mark.slow
async def test_the_model_corrects_what_the_words_chose(serve: Serve, upstream: Upstream) -> None:
    async with serving(fruit_site()) as site:
        server = await serve(toml(site, upstream))
        upstream.will(answer(completion('{"keep": [2]}')))
        data = await crawled(server, site.url + "/")
    shown = json.loads(upstream.last.body["messages"][1]["content"].split("\n")[1])
    assert shown["wish"] == "apples" and [each["number"] for each in shown["pages"]] == [1, 2, 3]
    assert urls(data) == [shown["pages"][1]["url"]]


@pytest.mark.slow
@pytest.mark.parametrize("fails", ["refused", "nonsense"])
async def test_a_model_that_fails_leaves_the_choice_to_the_words(fails: str, serve: Serve, upstream: Upstream) -> None:
    async with serving(fruit_site()) as site:
        server = await serve(toml(site, upstream))
        refused = answer({"error": "no"}, status=400)
        upstream.will(refused if fails == "refused" else answer(completion("All of them!")))
        data = await crawled(server, site.url + "/")
    assert upstream.seen and data["results"][0]["url"] == site.url + "/laptops"


@pytest.mark.slow
@pytest.mark.parametrize("per_day", [100_000, 100], ids=["room", "no room"])
async def test_the_model_is_paid_by_the_key_that_crawls(per_day: int, serve: Serve, upstream: Upstream) -> None:
    async with serving(fruit_site()) as site:
        server = await serve(toml(site, upstream) + f"[limits]\ntokens_per_day = {per_day}\n")
        upstream.will(answer(completion('{"keep": [2]}')))
        data = await crawled(server, site.url + "/")
    assert data["results"]
    assert len(upstream.seen) == (per_day > 100)
    await server.listener.close()
    rows = read_usage(server.config.state_dir / STATE_FILE, "2000-01-01", ["model"])
    assert any(row["model"] == "SvcLLM" and row["input_tokens"] for row in rows) == (per_day > 100)


async def test_a_model_nobody_knows_is_refused_by_name(serve: Serve, upstream: Upstream) -> None:
    with pytest.raises(Exception, match=r"web\.instructions_model.*NoSuch"):
        await serve(toml(Site(), upstream).replace("instructions_model = 'SvcLLM'", "instructions_model = 'NoSuch'"))
