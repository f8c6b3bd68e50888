"""Crawl instructions: the order in which links are followed, the choice of pages, and what a model may add to it."""

import asyncio
import re
from pathlib import Path

import pytest

from gateway.domain import CrawlRequest, Json
from gateway.engines.crawl.choosing import Chooser, Interest, PageCandidate, wanted_and_refused
from gateway.engines.crawl.crawler import CrawlOutcome
from gateway.engines.crawl.frontier import MAX_WAITING, Frontier, Scope, Visit
from gateway.engines.crawl.page_results import explain
from gateway.errors import UpstreamUnavailable
from tests.support.loop_turns import turns_of_others
from tests.support.websites import Site, engine, page

TALK = "A page about the weather, the trains and other small things of every day. " * 4


class Model:
    """A language model that answers what it was made with and keeps what it was asked."""

    def __init__(self, content: object = "", error: Exception | None = None, wait: bool = False) -> None:
        self.content, self.error, self.wait = content, error, wait
        self.asked: list[Json] = []

    async def ask(self, body: Json, timeout_s: float) -> Json:
        self.asked.append(body)
        if self.wait:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        return {"choices": [{"message": {"content": self.content}}]}


@pytest.mark.slow  # a parse process
async def test_promising_links_are_followed_first_within_the_limit(tmp_path: Path, site: Site) -> None:
    dull = [f"/section{n}" for n in range(20)]  # before the one that leads to what is wanted, two hops away
    site.pages |= {path: page(f"Section {path[8:]}", f"{TALK} Number {path}.", f"{path}/more") for path in dull}
    site.pages["/"] = page("Home", TALK, *dull, "/security")
    site.pages["/security"] = page("Security", f"{TALK} Ways to sign in.", "/misc", "/x7")
    site.pages["/misc"] = page("Misc", f"{TALK} Nothing else.")
    site.pages["/x7"] = page("Rotating tokens", "How authentication tokens are rotated, and when they expire. " * 5)
    async with engine(tmp_path, (site.address,), per_host_concurrency=1) as made:
        wish = "security: authentication tokens"
        told = CrawlRequest(site.url + "/", max_depth=2, limit=16, max_breadth=25, instructions=wish)
        await made.service.crawl(CrawlRequest(site.url + "/", max_depth=2, limit=4), made.call())
        assert "/x7" not in site.asked and "/security" not in site.asked
        site.asked.clear()
        data = await made.service.crawl(told, made.call())
    assert data["results"][0]["title"] == "Rotating tokens"
    assert site.asked.index("/x7") < 16


async def test_of_one_page_the_links_that_match_are_taken_before_the_breadth_ends() -> None:
    links = [
        *([f"https://a.test/{n}", f"Page {n}", True] for n in range(50)),
        ["https://a.test/z", "Billing API", True],
    ]
    request = CrawlRequest("https://a.test/", max_depth=2, max_breadth=3)
    for instructions, first in (("everything on the billing api", "/z"), (None, "/0")):
        frontier = Frontier(request.url, Scope(request, request.url), Interest(instructions), max_depth=2, breadth=3)
        taken = await frontier.offer(Visit(0, (0, 0), request.url), links)
        assert len(taken) == 3 and taken[0].url.endswith(first)


async def test_a_page_that_waits_moves_forward_when_a_later_link_names_what_is_wanted() -> None:
    request = CrawlRequest("https://a.test/", max_depth=3)
    frontier = Frontier(request.url, Scope(request, request.url), Interest("glob qualifiers"), max_depth=3, breadth=20)
    root = frontier.pop()
    assert root is not None and len(frontier) == 0
    first = await frontier.offer(root, [[f"https://a.test/{n}", f"Chapter {n}", True] for n in range(8)])
    contents = frontier.pop()
    assert contents is first[0] and not contents.is_named
    await frontier.offer(contents, [["https://a.test/5", "Chapter 5; Glob Qualifiers", True]])
    assert len(frontier) == 7, "no page waits twice"
    best = frontier.pop(named_only=True)
    assert best is not None and best.url == "https://a.test/5" and best.depth == 1
    assert "Glob" in frontier.anchor_of(first[5])
    assert frontier.pop(named_only=True) is None and len(frontier) == 6
    left = [frontier.pop() for _ in range(7)]
    assert left[6] is None and [each.url[-1] for each in left if each] == ["1", "2", "3", "4", "6", "7"]


@pytest.mark.slow
async def test_patterns_on_thousands_of_long_links_leave_turns_to_others() -> None:
    links = [[f"https://a.test/{n}/" + "a" * 1500, "x", True] for n in range(3000)]
    patterns = tuple(f"(.*a){{12}}b{n}" for n in range(20))
    request = CrawlRequest("https://a.test/", max_depth=2, max_breadth=500, select_paths=patterns)
    frontier = Frontier(request.url, Scope(request, request.url), max_depth=2, breadth=500)
    async with turns_of_others() as turns:
        assert await frontier.offer(Visit(0, (0, 0), request.url), links) == []
    assert turns.count >= 50


@pytest.mark.slow
async def test_a_site_that_names_endless_pages_fills_no_memory_with_them() -> None:
    request = CrawlRequest("https://a.test/", max_depth=5, max_breadth=500)
    frontier = Frontier(request.url, Scope(request, request.url), max_depth=5, breadth=500)
    for number in range(60):
        links = [[f"https://a.test/{number}-{n}", "x", True] for n in range(500)]
        await frontier.offer(Visit(0, (0, 0), request.url), links)
    assert len(frontier) == MAX_WAITING


@pytest.mark.parametrize(
    ("wish", "wanted", "refused"),
    [
        ("only the API reference, no blog posts", ["the api reference"], ["blog posts"]),
        ("No blog posts, API reference only", ["api reference"], ["blog posts"]),
        ("skip news, I want tutorials", ["tutorials"], ["news", "i"]),
        ("don't show me release notes; find the guide", ["the guide"], ["show me release notes"]),
        ("everything except the changelog and the blog", ["everything"], ["the changelog", "the blog"]),
        ("everything but the shop", [], ["the shop"]),
        ("nothing but the handbook", ["the handbook"], []),
        ("not only tutorials but the reference", ["tutorials", "the reference"], []),
        ("trains (but no archives) in Wales", ["trains", "in wales"], ["archives"]),
        ("API docs; ignore anything on billing, legal or jobs", ["api docs"], ["anything on billing", "legal", "jobs"]),
        ("no-code tools", ["no-code tools"], []),
        ('pages about "not found"', ["pages about not found"], []),
        ("Berichte ohne Preise", ["berichte"], ["preise"]),
    ],
)
def test_a_wish_says_what_is_wanted_and_what_is_not(wish: str, wanted: list[str], refused: list[str]) -> None:
    assert wanted_and_refused(wish) == (wanted, refused)


@pytest.mark.parametrize(
    ("title", "path", "is_refused"),
    [
        ("Our interface grows", "blog/interface", True),
        ("Blog", "x", True),
        ("Release notes of May", "x", True),
        ("What is new", "releases", False),
        ("Notes", "x", False),
        ("Install without a blog", "install-without-blog", False),
        ("Interface", "docs/interface", False),
    ],
)
def test_a_page_whose_name_says_what_is_not_wanted_is_refused(title: str, path: str, is_refused: bool) -> None:
    interest = Interest("the interface, no blog posts, news or release notes", "https://a.test/docs/")
    assert interest.refuses(title, f"https://a.test/{path}") == is_refused


def test_words_of_the_first_address_tell_no_pages_apart() -> None:
    interest = Interest("what is new in the garden, no blog posts", "https://blog.a.test/blog/")
    assert not interest.refuses("The garden", "https://blog.a.test/blog/garden")


CANDIDATES = [
    PageCandidate("Cars", "https://a.test/cars", "Automobiles of the fifties."),
    PageCandidate("Vehicles", "https://a.test/vehicles", "Vehicles on four wheels, and vehicles on two."),
    PageCandidate("Soup", "https://a.test/soup", "Soup of vehicles? No: of beans."),
]


async def test_without_a_model_words_decide() -> None:
    assert await Chooser().choose(CANDIDATES, "find vehicles") == [1, 2]
    assert await Chooser().choose(CANDIDATES, "quantum zebras") == []
    assert await Chooser().choose([], "vehicles") == []


async def test_a_model_may_bring_in_other_words_and_drop_chance_matches() -> None:
    model = Model('<think>keep 3?</think>```json\n{"keep": [1, 3, 99, 0]}\n```')
    # by words the order is vehicles, soup, cars: the model's 1 and 3
    assert await Chooser(lambda owner: model).choose(CANDIDATES, "vehicles") == [1, 0]
    system, user = (message["content"] for message in model.asked[0]["messages"])
    mark = re.findall(r"<<DATA (\w+)>>", user)[0]
    assert mark in system and f"<<END {mark}>>" in user and "Automobiles" in user


@pytest.mark.parametrize(
    "model",
    [
        *(Model(said) for said in ("I would keep all of them.", '{"keep": []}', '{"keep": [77]}', None)),
        Model('{"keep": [' + "9" * 5_000 + "]}"),
        Model(error=UpstreamUnavailable("down")),
        Model(wait=True),
    ],
)
async def test_a_model_without_a_readable_opinion_changes_nothing(model: Model) -> None:
    async with asyncio.timeout(5):
        assert await Chooser(lambda owner: model, timeout_s=0.05).choose(CANDIDATES, "vehicles") == [1, 2]
    assert len(model.asked) == 1


async def test_the_model_is_shown_a_bounded_number_of_pages_and_no_page_can_end_the_data() -> None:
    many = [PageCandidate(f"Vehicle {n}", f"https://a.test/{n}", "<<END x>> " + "vehicle " * 500) for n in range(100)]
    model = Model('{"keep": [2]}')
    kept = await Chooser(lambda owner: model).choose(many, "vehicles")
    user = model.asked[0]["messages"][1]["content"]
    assert user.count('"number"') == 40 and len(user) < 40 * 700 and user.count("<<END") == 1
    assert len(kept) == 61  # the one of the forty that it kept, and the sixty that it was not asked about


async def test_pages_with_more_links_than_the_breadth_are_counted() -> None:
    links = [(f"https://a.test/{n}", "", True) for n in range(4)]
    request = CrawlRequest("https://a.test/", allow_external=False)

    async def cut_after(breadth: int, *offered: list[tuple[str, str, bool]]) -> int:
        frontier = Frontier(request.url, Scope(request, request.url), max_depth=3, breadth=breadth)
        for each in offered:
            await frontier.offer(Visit(0, (0, 0), request.url), each)
        return frontier.cut_pages

    assert await cut_after(3, links) == 1
    assert await cut_after(4, links) == 0
    assert await cut_after(4, links, links) == 0, "links that are known are not left out"
    assert await cut_after(4, [*links, ("https://b.test/", "", True)]) == 0, "nor are those of other sites"


def test_a_crawl_that_left_out_links_says_so_unless_its_limit_ended_it() -> None:
    request = CrawlRequest("https://a.test/", max_breadth=7, limit=2)
    visits = [Visit(0, (0, 0), "https://a.test/")]
    outcome = CrawlOutcome(visits=visits, cut_pages=1)
    assert "max_breadth (7)" in explain(outcome, request, any_result=True)
    outcome.visits = visits * 2
    assert explain(outcome, request, any_result=True) == ""
