"""Queries that are one name: the page that defines it comes before those that mention it, with the defining passage."""

from pathlib import Path

import pytest

from gateway.engines.index.page_rows import IndexedPage
from gateway.engines.index.query import IndexQuery
from gateway.engines.index.signals import defines
from gateway.engines.index.store import PageIndex

REFERENCE = (
    "# Settings\n\n"
    + "`max_workers` and `min_workers` together bound the pool, as max_workers does alone.\n\n" * 40
    + "## Pool\n\n`min_workers` (integer)\n\nHow many workers are kept. The default is 1.\n\n"
    "`max_workers` (integer)\n\nHow many workers there may be at most. The default is 8.\n"
)
INDEX = "# All names\n\n" + "\n".join(f"- [`{name}`](pool#{name})" for name in ("max_workers", "max_workers old") * 3)
GUIDE = "# Raising limits\n\nRaise max_workers first. With max_workers high, lower max_workers again."


async def test_a_name_finds_the_page_that_defines_it_and_the_passage_that_does(tmp_path: Path) -> None:
    index = PageIndex(tmp_path / "i.db")
    pages = {"reference": REFERENCE, "names": INDEX, "guide": GUIDE}
    await index.add([IndexedPage(f"https://a.test/{name}", name, text) for name, text in pages.items()])
    hits = await index.search(IndexQuery("max_workers", ("",)))
    await index.close()
    assert hits[0].url == "https://a.test/reference"
    best = hits[0].passages[0]
    assert "at most. The default is 8." in hits[0].content[best.start : best.end]


@pytest.mark.parametrize(
    ("name", "headings", "body"),
    [
        ("permitlocalcommand", "", "\n PermitLocalCommand \n\nAllow local commands. The default is no."),
        ("max workers", "Settings Pool", "  max  workers  ( integer )\n\nHow many there may be."),
        ("s ififo", "stat", "Other.\n\n stat.S  IFIFO \n\nFIFO."),
        ("rewritebase", "mod rewrite RewriteBase Directive", "Sets the base."),
    ],
)
def test_a_term_with_its_description_or_the_last_heading_defines_a_name(name: str, headings: str, body: str) -> None:
    assert defines(name, headings, body)


@pytest.mark.parametrize(
    ("name", "headings", "body"),
    [
        ("port", "", "Ciphers\n\n Port \n\n ProxyCommand \n\n User \n\n"),
        ("port", "", "-  Port \n\nThe next paragraph is a sentence."),
        ("port", "", "This sentence is about a port.\n\nAnd so is this one. Truly."),
        ("port", "", " Ports \n\nSeveral of them. Many."),
        ("port", "Port numbers of well known services", "None of them."),
        ("port", "", "port\nfollows without a blank line. So no term."),
        ("port", "", " port "),
    ],
)
def test_lists_sentences_and_other_words_define_nothing(name: str, headings: str, body: str) -> None:
    assert not defines(name, headings, body)
