"""Asks a local index of a few pages."""

from collections.abc import Mapping
from pathlib import Path

from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.store import PageIndex


async def found_names(folder: Path, pages: list[tuple[str, str]], query: str) -> list[str]:
    """The names of the pages that the query finds, best first. `pages`: (name, text) of each; its name is its title."""
    index = PageIndex(folder / "i.db")
    try:
        await index.add([IndexedPage(f"https://a.test/{name}", name, text) for name, text in pages])
        return [hit.url.rpartition("/")[2] for hit in await index.search(IndexQuery(query, ("",)))]
    finally:
        await index.close()


def pages_of(texts: Mapping[str, str], owner: str = "") -> list[IndexedPage]:
    """Pages by their names, which are their titles."""
    return [IndexedPage(f"https://a.test/{name}", name, text, owner) for name, text in texts.items()]
