"""What a crawl and a map tell on their way: pages done of pages known, never more than the result can hold."""

from itertools import pairwise

import pytest

from gateway.domain import CrawlRequest, Progress, WebCall
from tests.support.websites import Answer, Engine, Site, page

pytestmark = pytest.mark.slow  # a parse process for each test

WORDS = "A page that says something worth reading about progress on the web. "


@pytest.fixture
def pages() -> dict[str, Answer]:
    """A home page with links to pages that have two links each."""
    pages: dict[str, Answer] = {"/": page("Home", WORDS, *(f"/{n}" for n in range(6)))}
    for n in range(6):
        pages[f"/{n}"] = page(f"Page {n}", f"{WORDS} Number {n} of them. " * 3, f"/{n}/a", f"/{n}/b")
        for leaf in "ab":
            pages[f"/{n}/{leaf}"] = page(f"Leaf {n}{leaf}", f"{WORDS} Leaf {leaf} of {n}, no more. " * 3)
    return pages


class Told:
    """The steps of one call."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int]] = []

    def call(self) -> WebCall:
        return WebCall("key1", "req_1", True, Progress(on_change=self._keep))

    def _keep(self, progress: Progress) -> None:
        assert progress.total is not None
        self.steps.append((progress.done, progress.total))

    @property
    def rises(self) -> bool:
        return all(before[0] < after[0] for before, after in pairwise(self.steps))


async def test_a_crawl_tells_page_by_page_and_ends_with_all_that_is_known(site: Site, made: Engine) -> None:
    told = Told()
    await made.service.crawl(CrawlRequest(site.url + "/"), told.call())
    assert [done for done, _ in told.steps] == list(range(1, 8))
    assert told.steps[0] == (1, 7) and told.steps[-1] == (7, 7)
    assert all(done <= total <= 7 for done, total in told.steps)


@pytest.mark.parametrize("limit", [1, 4, 12])
async def test_a_crawl_never_tells_more_than_its_limit(site: Site, made: Engine, limit: int) -> None:
    told = Told()
    data = await made.service.crawl(CrawlRequest(site.url + "/", max_depth=2, limit=limit), told.call())
    assert len(data["results"]) == limit and told.steps[-1] == (limit, limit)
    assert told.rises and all(done <= total <= limit for done, total in told.steps)


@pytest.mark.parametrize("limit", [1, 4, 12, 300])
async def test_a_map_tells_pages_read_of_pages_listed(site: Site, made: Engine, limit: int) -> None:
    told = Told()
    data = await made.service.map(CrawlRequest(site.url + "/", max_depth=2, limit=limit), told.call())
    listed = len(data["results"])
    assert listed == min(limit, 19)
    assert told.steps[0] == (1, min(limit, 7)) and told.steps[-1][1] == listed
    assert told.rises and all(done <= total <= listed for done, total in told.steps)


async def test_a_start_page_that_is_not_asked_for_does_not_count(site: Site, made: Engine) -> None:
    mapped, crawled = Told(), Told()
    request = CrawlRequest(site.url + "/", max_depth=2, select_paths=("^/[0-2]$",))
    pages = await made.service.map(request, mapped.call())
    await made.service.crawl(request, crawled.call())
    assert len(pages["results"]) == 3
    assert mapped.steps == crawled.steps == [(0, 3), (1, 3), (2, 3), (3, 3)]


async def test_pages_under_a_second_name_are_no_step(site: Site, made: Engine) -> None:
    same = page("Same", f"{WORDS} The same in both places. " * 3)
    site.pages |= {"/": page("Home", WORDS * 3, "/a", "/b"), "/a": same, "/b": same}
    told = Told()
    await made.service.crawl(CrawlRequest(site.url + "/"), told.call())
    assert [done for done, _ in told.steps] == [1, 2]
