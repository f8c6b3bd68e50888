"""Lists of links (contents, indexes, lists of modules) rank below pages that say something, and are still found."""

from pathlib import Path

import pytest

from gateway.engines.index.link_lists import link_share
from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.store import PageIndex

LINKS = "\n".join(f"- [Pools, part {n}](https://a.test/p{n}.html)" for n in range(12))
NAMES = f"# Connection pools\n\n- [Limits of connection pools](https://a.test/limits.html)\n{LINKS}"
GUIDE = "# Servers\n\nA server keeps its connections in pools. Each pool has limits, which the file sets. " * 6


async def titles(tmp_path: Path, query: str, pages: dict[str, str]) -> list[str]:
    index = PageIndex(tmp_path / "i.db")
    await index.add([IndexedPage(f"https://a.test/{title}", title, text, "key1") for title, text in pages.items()])
    hits = await index.search(IndexQuery(query, ("key1",)))
    await index.close()
    return [hit.title for hit in hits]


async def test_a_list_of_links_ranks_below_a_page_that_says_something_unless_it_is_asked_for(tmp_path: Path) -> None:
    pages = {"names": NAMES, "guide": GUIDE}
    assert await titles(tmp_path, "limits of connection pools", pages) == ["guide", "names"]
    assert await titles(tmp_path, "connection pools index", pages) == ["names", "guide"]


async def test_a_list_of_links_that_alone_has_the_words_is_found(tmp_path: Path) -> None:
    assert await titles(tmp_path, "part of pools", {"names": NAMES, "other": "Gardens and water."}) == ["names"]


@pytest.mark.parametrize(
    ("markdown", "least", "most"),
    [
        (LINKS, 0.7, 1.0),
        (f"{GUIDE} See [pools](https://a.test/a-very-long-address-of-a-page/with/folders.html).", 0.0, 0.02),
        ("a ](b) ](c", 0.0, 1.0),
        ("", 0.0, 0.0),
    ],
    ids=["a list", "a text", "marks without a link", "nothing"],
)
def test_the_share_of_links_counts_what_is_shown_and_no_targets(markdown: str, least: float, most: float) -> None:
    assert least <= link_share(markdown) <= most
