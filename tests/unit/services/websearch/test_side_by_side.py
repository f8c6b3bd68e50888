"""Several search providers at once: what they find becomes one answer, and one that fails costs only itself.

The answers stand in `tests/golden/search_side_by_side.json`, a case a line: what each provider finds, `asked` and
`able` where a parameter is asked for that some keep to, and what the caller is told.
"""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from gateway.domain import ExtractRequest, Json, SearchRequest, WebCall
from gateway.errors import UpstreamRefused, UpstreamUnavailable
from gateway.ports import SearchProvider
from gateway.services.websearch.fusion import fused
from gateway.services.websearch.service import WebSearchService, WebSearchSettings
from tests.support.paths import GOLDEN
from tests.unit.services.websearch.test_service import CALL, NoEngine, Scripted, result, service, whole

CASES: list[Json] = json.loads((GOLDEN / "search_side_by_side.json").read_text())
BUSY = "the search provider a is busy or in trouble (503); try again later."


def together(*providers: SearchProvider, spare: SearchProvider | None = None, reader: Any = None) -> WebSearchService:
    """A service that asks the providers at once, each for a second at most, and the spare one when all have failed."""
    made = service(*providers, *([spare] if spare else []), reader=reader)
    deps = replace(made._deps, side_by_side={each.name: 1.0 for each in providers})
    return WebSearchService(deps, made._settings)


def named(name: str, *urls: str, capabilities: frozenset[str] = frozenset(), **more: Any) -> Scripted:
    texts = more or {"content": ""}
    return Scripted([result(url, **texts) for url in urls], capabilities, name)


async def found(made: WebSearchService, request: SearchRequest | None = None) -> Json:
    return whole(await made.search(request or SearchRequest("q"), CALL))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
async def test_what_several_find_is_one_answer(case: Json) -> None:
    providers = []
    for name, items in case["found"].items():
        found_by = [{"url": each, "content": ""} if isinstance(each, str) else each for each in items]
        able = frozenset(case.get("able", {}).get(name, ()))
        providers.append(Scripted([result(**each) for each in found_by], able, name))
    asked: Json = {
        name: tuple(each) if isinstance(each, list) else each for name, each in case.get("asked", {}).items()
    }
    data = await found(together(*providers), SearchRequest("q", **asked))
    told = {name: each for name, each in data.items() if name in case["told"] or name in ("note", "ignored_parameters")}
    assert [each.pop("title") for each in told["results"]] and told == case["told"]


async def test_no_more_is_given_than_was_asked_for() -> None:
    many = [named(name, *(f"https://{name}.test/{number}" for number in range(20))) for name in "abcd"]
    assert len((await found(together(*many), SearchRequest("q", max_results=7)))["results"]) == 7


async def test_one_that_fails_is_named_and_costs_only_itself() -> None:
    broken, sound = named("a"), named("b", "https://b.test/")
    broken.fails = UpstreamUnavailable(BUSY)
    made = together(broken, sound, spare=named("spare", "https://spare.test/"))
    for _ in range(2):
        data = await found(made)
        assert [each["url"] for each in data["results"]] == ["https://b.test/"] and data["provider"] == "b"
        assert data["note"] == f"{BUSY} These results come from b."
    assert (broken.asked, sound.asked) == (2, 1), "what was found is remembered, a failure is not"
    status = (await made.status(CALL))["search_provider"]
    assert (status["name"], status["healthy"], status["error"]) == ("a, b", True, BUSY)
    engines = [{"name": "a", "healthy": False, "error": BUSY}, {"name": "b", "healthy": True, "error": None}]
    assert status["engines"] == engines
    broken.fails = None
    assert (await found(made))["provider"] == "a, b"


async def test_one_that_keeps_failing_is_not_asked_for_a_while_and_that_is_told() -> None:
    broken, sound = named("a"), named("b", "https://b.test/")
    broken.fails = UpstreamUnavailable(BUSY)
    made = together(broken, sound)
    for _ in range(5):
        data = await found(made)
    assert broken.asked == 3
    assert data["note"] == "the search provider a keeps failing and is not asked for 30 s. These results come from b."


class Hanging(Scripted):
    """Never answers; says when it was asked, and when nobody waits any more."""

    def __init__(self, name: str) -> None:
        super().__init__([], name=name)
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def search(self, request: SearchRequest, call: WebCall) -> Json:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        raise AssertionError


async def test_a_caller_who_leaves_ends_all_of_them() -> None:
    both = Hanging("a"), Hanging("b")
    task = asyncio.create_task(together(*both).search(SearchRequest("q"), CALL))
    async with asyncio.timeout(5):
        for each in both:
            await each.begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for each in both:
            await each.ended.wait()


async def test_when_all_fail_the_fallback_is_asked_and_else_the_first_error_is_raised() -> None:
    refused, broken = named("a"), named("b")
    refused.fails = UpstreamRefused("the search provider a did not accept it.", status=400, code="c")
    broken.fails = UpstreamUnavailable("the search provider b is in trouble.")
    data = await found(together(refused, broken, spare=named("spare", "https://spare.test/")))
    told = "the search provider b is in trouble. the search provider a did not accept it."
    assert data["note"] == f"{told} These results come from spare." and data["provider"] == "spare"
    with pytest.raises(UpstreamUnavailable, match="b is in trouble"):
        await found(together(refused, broken))
    broken.fails = refused.fails
    spare = named("spare", "https://spare.test/")
    with pytest.raises(UpstreamRefused):
        await found(together(refused, broken, spare=spare))
    assert spare.asked == 0, "a request that all refuse is the caller's fault"


async def test_nothing_found_beside_a_failure_says_nothing() -> None:
    broken, empty = named("a"), named("b")
    broken.fails = UpstreamUnavailable(BUSY)
    assert (await found(together(broken, empty, spare=named("spare", "https://s.test/"))))["provider"] == "spare"
    with pytest.raises(UpstreamUnavailable):
        await found(together(broken, empty))
    assert (await found(together(empty, named("c"))))["results"] == []


async def test_page_texts_are_read_for_the_results_that_have_none() -> None:
    asked: list[str] = []

    class Reader(NoEngine):
        async def extract(self, request: ExtractRequest, call: Any) -> Json:
            asked.extend(request.urls)
            pages = [{"url": url, "raw_content": "read", "favicon": "https://i.test/"} for url in request.urls]
            return {"results": pages, "failed_results": []}

    able = frozenset({"include_raw_content", "include_favicon"})
    has = named("a", "https://a.test/", capabilities=able, raw_content="sent", favicon="https://own.test/")
    made = together(has, named("b", "https://b.test/"), reader=Reader())
    data = await found(made, SearchRequest("q", include_raw_content=True, include_favicon=True))
    assert asked == ["https://b.test/"] and [each["raw_content"] for each in data["results"]] == ["sent", "read"]
    assert [each["favicon"] for each in data["results"]] == ["https://own.test/", "https://i.test/"]


def test_what_one_says_that_found_nothing_counts_where_nobody_found_anything() -> None:
    def notes(*results: Json) -> str:
        empty: Json = {"query": "q", "results": [], "images": [], "provider": "a", "note": "Nothing was found."}
        other: Json = {"query": "q", "results": [*results], "images": [], "provider": "b", "note": "Few words fit."}
        return str(fused([empty, other], 10)["note"])

    assert notes(result("https://b.test/")) == "b: Few words fit."
    assert notes() == "a: Nothing was found. b: Few words fit."


def test_images_are_each_given_once_and_notes_have_their_providers_name() -> None:
    told: Json = {"query": "q", "results": [], "images": ["https://a.test/i"], "provider": "a", "note": "Few fit."}
    other: Json = {"query": "q", "results": [], "provider": "b", "truncated": True}
    other["images"] = [{"url": "https://a.test/i", "description": "d"}, {"url": "https://b.test/i", "description": ""}]
    data = fused([told, other], 10)
    assert [each["url"] for each in data["images"]] == ["https://a.test/i", "https://b.test/i"]
    assert data["note"] == "a: Few fit." and data["truncated"] is True


async def test_texts_of_all_together_keep_to_the_budget_of_a_result() -> None:
    urls = [[f"https://{name}.test/{number}" for number in range(10)] for name in "ab"]
    many = [Scripted([result(url, content=f"{url} " * 20) for url in some], name=some[0]) for some in urls]
    made = WebSearchService(together(*many)._deps, WebSearchSettings("1.0", 4_500))
    data = await found(made, SearchRequest("q", max_results=20))
    assert len(data["results"]) == 20 and data["truncated"] is True
    assert sum(len(each["content"]) for each in data["results"]) <= 4_500
