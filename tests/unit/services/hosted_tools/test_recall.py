"""What is remembered of hosted calls, which domains bind, and which options a caller may send."""

from typing import Any

import pytest

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.services.hosted_tools import search_options
from gateway.services.hosted_tools.call_memory import CallMemory
from gateway.services.hosted_tools.page_text import find_in, open_text, search_text
from gateway.services.hosted_tools.sources import Sources
from gateway.wire.hosted_answer import HostedCall, Source

USER: Json = {"role": "user", "content": "x"}
SAID: Json = {"type": "message", "role": "assistant", "content": "y"}
FOUND: Json = {"type": "web_search_call", "id": "ws_1", "action": {"query": "q"}}
PAGE = Source(3, "https://a.example.com/p", "A page")


def memory() -> CallMemory:
    made = CallMemory()
    made.put("key1", HostedCall("ws_1", "web_search", "web_search", '{"query":"q"}', output="out", sources=[PAGE]))
    return made


def test_a_call_of_the_open_turn_is_recalled_with_its_pages_and_numbers() -> None:
    sources = Sources()
    user, call, output = memory().recall("key1", [USER, FOUND], sources)
    assert user == USER and call == {
        "type": "function_call", "call_id": "ws_1", "name": "web_search", "arguments": '{"query":"q"}',
    }  # fmt: skip
    assert output == {"type": "function_call_output", "call_id": "ws_1", "output": "out"}
    assert sources.numbered(3) == PAGE and sources.at("https://A.example.com/p/") == PAGE


OTHER_CALLS = [
    ("key2", [USER, FOUND]),
    ("key1", [USER, {**FOUND, "id": "ws_9"}]),
    ("key1", [USER, FOUND, SAID, USER]),
    ("key1", [USER, FOUND, SAID]),
]


@pytest.mark.parametrize(
    ("owner", "items"), OTHER_CALLS, ids=["another key", "another call", "a turn that is over", "the end of a turn"]
)
def test_other_calls_stay_as_they_are(owner: str, items: list[Json]) -> None:
    assert memory().recall(owner, items, Sources()) == items


def test_results_that_the_caller_sends_again_are_read() -> None:
    item = {**FOUND, "id": "ws_7", "results": [{"url": PAGE.url, "title": "A", "content": "text"}, {"url": 7}]}
    sources = Sources()
    _, call, output = memory().recall("key2", [USER, item], sources)
    assert call["arguments"] == '{"query":"q"}' and "text" in output["output"] and sources.at(PAGE.url) is not None


DOMAINS = [
    ("https://Docs.Example.org/", "docs.example.org"), ("example.org/blog/*", "example.org/blog"), ("not a host", None),
    ("example.org/a?b", None), ("", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "domain"), DOMAINS)
def test_a_domain_is_a_host_with_or_without_a_path(text: str, domain: str | None) -> None:
    assert search_options.checked_domain(text) == domain


PAGES = [
    ("https://example.org/blog/a", True), ("https://www.example.org/blog", True), ("https://example.org/blogs", False),
    ("https://other.org/blog", False), ("no url", False),
]  # fmt: skip


@pytest.mark.parametrize(("url", "is_there"), PAGES)
def test_a_page_is_within_a_domain_below_its_path(url: str, is_there: bool) -> None:
    assert search_options.is_within(url, ["example.org/blog"]) is is_there


def test_options_are_read_on_each_route() -> None:
    place: Json = {"type": "approximate", "city": "Rome", "country": "it"}
    filters = {"allowed_domains": ["a.org"], "blocked_domains": ["b.org"]}
    tool = {"type": "web_search", "search_context_size": "high", "user_location": place, "filters": filters,
            "external_web_access": False}  # fmt: skip
    options = search_options.of_tool(tool, "tools[0]")
    assert options == search_options.SearchOptions(
        "high", ("a.org",), ("b.org",), {"city": "Rome", "country": "IT"}, external=False
    )
    assert options.country == "italy" and search_options.with_defaults(tool)["external_web_access"] is False
    shown = search_options.with_defaults({"type": "web_search"})
    assert (shown["search_context_size"], shown["user_location"]["type"]) == ("medium", "approximate")
    nearby: Json = {"type": "approximate", "approximate": {"city": "X"}}
    chat = search_options.of_chat({"search_context_size": "low", "user_location": nearby})
    assert (chat.size, chat.location, chat.country) == ("low", {"city": "X"}, None)
    assert search_options.of_messages(({"blocked_domains": ["b.org"]}, "tools[0]")).excluded == ("b.org",)


def test_search_and_fetch_of_messages_share_their_options() -> None:
    search, fetch = ({"allowed_domains": ["a.org"]}, "tools[0]"), ({"max_content_tokens": 100}, "tools[1]")
    both = search_options.of_messages(search, fetch)
    assert (both.functions, both.domains, both.max_page_chars) == (search_options.FUNCTIONS, ("a.org",), 400)
    assert search_options.of_messages(search, fetch, fetches_first=True).functions[0] == "open_page"
    assert search_options.of_messages(None, fetch).functions == ("open_page", "find_in_page")
    other = ({"allowed_domains": ["b.org"]}, "tools[1]")
    with pytest.raises(InvalidRequest, match=r"must be those of tools\[0\]") as refused:
        search_options.of_messages(search, other)
    assert refused.value.param == "tools[1].allowed_domains"


WRONG_OPTIONS = [
    ({"search_context_size": "huge"}, "tools[0].search_context_size"),
    ({"filters": {"allowed_domains": ["a.org", "no host"]}}, "tools[0].filters.allowed_domains[1]"),
    ({"user_location": {"type": "approximate", "country": "Italy"}}, "tools[0].user_location.country"),
]


@pytest.mark.parametrize(("tool", "param"), WRONG_OPTIONS)
def test_wrong_options_are_named(tool: Any, param: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        search_options.of_tool({"type": "web_search", **tool}, "tools[0]")
    assert refused.value.param == param
    with pytest.raises(InvalidRequest, match="leave one out"):
        search_options.of_messages(({"allowed_domains": ["a.org"], "blocked_domains": ["b.org"]}, "tools[0]"))


# --- what a model reads of results and pages --------------------------------------------------------------------------


READ = Source(3, "https://a.example/", "A")


def test_results_have_the_numbers_of_their_sources() -> None:
    sources = Sources()
    sources.add("https://a.example/", "A")
    result = {"title": "A", "url": "https://a.example/", "content": "text", "published_date": "2026-01-02"}
    assert search_text([result], sources) == "[1] A\nhttps://a.example/\nPublished: 2026-01-02\ntext"
    unknown = {"title": "", "url": "https://b.example/", "content": ""}
    assert search_text([unknown], sources, "a note") == "https://b.example/\nhttps://b.example/\n\na note"
    assert search_text([], sources) == "Nothing was found."
    assert open_text("", "https://a.example/", "text", READ) == "[3] https://a.example/\nhttps://a.example/\n\ntext"


@pytest.mark.parametrize("before", ["", "x" * 1_000, "İ" * 1_000])
def test_the_text_around_a_match_is_shown_whatever_letters_come_before_it(before: str) -> None:
    shown = find_in(f"{before} the Needle is here {'y' * 1_000}", "  nEEDLE ", READ)
    assert shown.startswith("[3] 1 places with this text") and "the Needle is here" in shown


def test_matches_close_together_are_shown_once_and_many_are_bounded() -> None:
    assert find_in("needle " * 40, "needle", None).startswith("1 places")
    assert find_in(("needle" + "x" * 400) * 20, "needle", None).startswith("8 places")
    assert find_in("hay", "needle", READ) == "The page has no such text."
