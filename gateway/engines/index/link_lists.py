"""Pages that are lists of links: tables of contents, indexes of names, lists of modules. They rank below other pages.

Such a page has the words of what it points to and answers nothing. What is told by its text is more than an address or
a title says (`page_priors`). It stays in the index: it may be all that was read of a site. Runs in a reader thread.
"""

from gateway.engines.index.fusion import RankedPage
from gateway.engines.index.page_priors import asks_for_listing
from gateway.engines.index.stored_pages import StoredPages

_SHARE = 0.5
_LEAST_LINKS = 0.5
"""Factor of the rank of a page whose text is links for more than the second share. Chosen on 264 questions over 8,600
pages of 29 sites, of which 340 are such pages: MRR@10 .635 instead of .630, .775 instead of .773 and .771 as before, no
kind of question below; with .7 or .3 as the factor, or .4 as the share, the same within .001."""
_PAGES = 10
"""The best pages that are compared, all read for the answer anyway, as in `page_words`."""
_MOST_CHARS = 20_000
"""Beginning of a page that is judged. Chosen: at most .2 ms for each page; lists begin within it."""
_LINK_MARKS = len("[]()")


def by_links(stored: StoredPages, pages: list[RankedPage], text: str) -> list[RankedPage]:
    """The pages, best first, where those of the best _PAGES that are lists of links rank lower, unless the query `text`
    asks for such a page."""
    if asks_for_listing(text):
        return pages
    best = pages[:_PAGES]
    for page in best:
        row = stored.read(page.row)
        if row is not None and link_share(row.content[:_MOST_CHARS]) > _LEAST_LINKS:
            page.rank *= _SHARE
    return sorted(best, key=lambda page: -page.rank) + pages[_PAGES:]


def link_share(markdown: str) -> float:
    """The share of a text, 0 to 1, that is link text. Link targets count neither as link text nor as text. Takes time
    linear in the length."""
    parts = markdown.split("](")
    shown = sum(len(before) - before.rfind("[") - 1 for before in parts[:-1])
    targets = sum(max(behind.find(")"), 0) + _LINK_MARKS for behind in parts[1:])
    return min(shown / max(len(markdown) - targets, 1), 1.0)
