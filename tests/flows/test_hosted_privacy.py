"""Hosted web search: who may use it, what leaves and what comes in masked, which pages may be read."""

import pytest

from tests.support.gateways import Serve
from tests.support.hosted_checks import check_events, kinds_of, plain
from tests.support.hosted_search import (
    SEARCH,
    Scene,
    call,
    message_of,
    post,
    respond,
    round_of,
    scene,
    search,
    visible,
)  # fmt: skip

CARD, MAIL = "4539 1488 0343 6467", "jane.roe@example.com"
PARIS = "https://a.example.com/paris"
BOTH = "[sanitize]\nroutes = ['websearch', 'responses', 'chat']\n"


@pytest.mark.parametrize("is_stream", [True, False])
async def test_a_key_without_the_scope_is_refused_before_anything_happens(stage: Scene, is_stream: bool) -> None:
    key = stage.server.make_key("chat", "responses")
    stage.model.will(round_of("x"))
    bodies = {
        "/v1/responses": {"model": "SvcLLM", "input": "x", "tools": [SEARCH], "stream": is_stream},
        "/v1/chat/completions": {
            "model": "SvcLLM", "messages": [{"role": "user", "content": "x"}], "web_search_options": {},
            "stream": is_stream,
        },
    }  # fmt: skip
    for path, body in bodies.items():
        status, answer = await post(stage, path, body, key)
        assert status == 403 and "web-search" in answer["error"]["message"]
    assert stage.sent == [] and stage.provider.asked == []


async def test_query_and_results_are_masked_whatever_the_routes_say(stage: Scene) -> None:
    stage.provider.results = [{"title": f"Of {CARD}", "url": PARIS, "content": f"Pay with {CARD} now."}]
    stage.model.will(round_of(search(f"who owns {CARD}")), round_of("x [1]"))
    response = await respond(stage, include=["web_search_call.results"])
    assert stage.provider.asked == ["who owns [REDACTED:CREDIT_CARD]"]
    told = stage.sent[1]["messages"][-1]["content"]
    assert CARD not in told and told.count("[REDACTED:CREDIT_CARD]") == 2
    made = response["output"][0]
    assert made["action"]["query"] == "who owns [REDACTED:CREDIT_CARD]" and CARD not in str(made["results"])
    assert message_of(response)["annotations"][0]["title"] == "Of [REDACTED:CREDIT_CARD]"


@pytest.mark.slow
async def test_a_page_is_masked_before_the_model_reads_it(stage: Scene) -> None:
    page = f"{stage.site.url}/page"
    words = "Words of a page. " * 30
    stage.site.pages["/page"] = f"<html><title>T</title><body><p>{words}The card {CARD}.</p></body></html>"
    find = call("find_in_page", url=page, pattern="the CARD")
    stage.model.will(round_of(call("open_page", url=page)), round_of(find), round_of("x [1]"))
    response = await respond(stage, input=f"Read {page}", include=["web_search_call.results"])
    check_events(stage.extra)
    assert [item["action"] for item in response["output"][:2]] == [
        {"type": "open_page", "url": page}, {"type": "find_in_page", "url": page, "pattern": "the CARD"},
    ]  # fmt: skip
    opened, found = (stage.sent[number]["messages"][-1]["content"] for number in (1, 2))
    assert opened.startswith("[1] T\n") and "The card [REDACTED:CREDIT_CARD]." in opened
    assert found.startswith("[1] 1 places") and CARD not in found
    assert visible(message_of(response)) == [("[1]", page)]


async def test_a_masked_answer_is_the_same_streamed_and_whole(serve: Serve) -> None:
    async with scene(serve, more=BOTH) as stage:
        made = []
        for is_stream in (True, False):
            text = f"{CARD} [1] and {MAIL} [2] [REDACTED:CREDIT_CARD] [3]"
            stage.model.will(round_of(search(), is_stream=is_stream), round_of(text, is_stream=is_stream))
            response = await respond(stage, stream=is_stream)
            response["provider_specific_fields"].pop("sanitization", None)
            made.append(plain(response))
        assert made[0] == made[1]


async def test_both_spellings_of_an_international_domain_are_one(stage: Scene) -> None:
    urls = ["https://münchen.example/a", "https://xn--mnchen-3ya.example/b", "https://munchen.example/c"]
    stage.provider.results = [{"title": "x", "url": url, "content": "x"} for url in urls]
    for spelling in ("münchen.example", "xn--mnchen-3ya.example"):
        stage.model.will(round_of(search()), round_of("x"))
        tool = {**SEARCH, "filters": {"allowed_domains": [spelling]}}
        response = await respond(stage, tools=[tool], include=["web_search_call.results"])
        assert [each["url"][-1] for each in response["output"][0]["results"]] == ["a", "b"]


async def test_what_codex_says_of_its_search_is_taken(stage: Scene) -> None:
    stage.model.will(round_of(search()), round_of("Paris [1]."))
    tool = {**SEARCH, "search_content_types": ["text", "image"], "indexed_web_access": False}
    assert len(message_of(await respond(stage, tools=[tool]))["annotations"]) == 1


@pytest.mark.parametrize("name", ["web_search", "web_search_preview", "web_search_preview_2025_03_11"])
async def test_a_choice_may_name_web_search_by_any_of_its_names(stage: Scene, name: str) -> None:
    stage.model.will(round_of(search()), round_of("Paris [1]."))
    await respond(stage, tool_choice={"type": name})
    assert stage.sent[0]["tool_choice"] == {"type": "function", "function": {"name": "web_search"}}


@pytest.mark.slow
async def test_domains_bind_results_and_pages_also_after_a_redirect(stage: Scene) -> None:
    other = "http://127.0.0.1:9/"
    stage.site.pages["/away"] = (302, {"Location": f"{stage.site.url}/page"}, b"")
    stage.site.pages["/page"] = "<html><body><p>" + "Words of a page. " * 30 + "</p></body></html>"
    tool = {**SEARCH, "filters": {"allowed_domains": ["example.com", "localhost"]}}
    away = f"http://localhost:{stage.site.port}/away"
    stage.model.will(
        round_of(search()),
        round_of(call("open_page", url="https://b.example.org/lyon")),
        round_of(call("open_page", url=other)),
        round_of(call("open_page", url=away)),
        round_of("x [1] [2] [3]"),
    )
    response = await respond(
        stage, tools=[tool], input=f"Read {other} and {away} and https://b.example.org/lyon",
        include=["web_search_call.results"],
    )  # fmt: skip
    assert kinds_of(response["output"]) == ["search", "open_page!", "open_page!", "open_page!", "message"]
    assert [each["url"] for each in response["output"][0]["results"]] == [PARIS, "https://a.example.com/nice"]
    assert [link for link, _ in visible(message_of(response))] == ["[1]", "[2]"]
    told = [body["messages"][-1]["content"] for body in stage.sent[2:]]
    assert "not on one of the domains" in told[0] and "not on one of the domains" in told[1]
    assert "leads to a domain that the caller does not allow" in told[2]


async def test_a_private_address_is_not_opened(stage: Scene) -> None:
    for address in ("http://127.0.0.1:9/x", "http://169.254.169.254/latest/meta-data/", "file:///etc/passwd"):
        stage.model.will(round_of(call("open_page", url=address)), round_of("x"))
        response = await respond(stage, input=f"Read {address}")
        assert kinds_of(response["output"]) == ["open_page!", "message"]


async def test_without_external_access_only_the_local_index_is_searched(stage: Scene) -> None:
    stage.model.will(round_of(search()), round_of("x"))
    response = await respond(stage, tools=[{**SEARCH, "external_web_access": False}])
    assert stage.provider.asked == [] and kinds_of(response["output"]) == ["search", "message"]
    assert [tool["function"]["name"] for tool in stage.sent[0]["tools"]] == ["web_search"]
    assert "Nothing was found." in stage.sent[1]["messages"][-1]["content"]


async def test_the_place_of_the_user_is_told_to_the_model(stage: Scene) -> None:
    place = {"type": "approximate", "city": "Lyon", "country": "fr", "timezone": "Europe/Paris"}
    stage.model.will(round_of("x"))
    await respond(stage, tools=[{**SEARCH, "user_location": place}], instructions="Be brief.")
    system = stage.sent[0]["messages"][0]
    assert system["role"] == "system" and "near Lyon, FR" in system["content"]
    assert system["content"].endswith("Be brief.")


@pytest.mark.parametrize(("size", "count"), [("low", 1), ("medium", 2), ("high", 3)])
async def test_the_context_size_decides_how_many_results_there_are(serve: Serve, size: str, count: int) -> None:
    more = "[hosted_search.results]\nlow = 1\nmedium = 2\nhigh = 3\n"
    async with scene(serve, more=more) as stage:
        stage.model.will(round_of(search()), round_of("x"))
        tool = {**SEARCH, "search_context_size": size}
        response = await respond(stage, tools=[tool], include=["web_search_call.results"])
        assert len(response["output"][0]["results"]) == count
