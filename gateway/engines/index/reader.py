"""What ranking asks of a store of passages. SQLite and PostgreSQL answer the same questions; neither ranks.

A reader belongs to one search and one thread: its methods wait for the database. Rows are numbers of the store's own.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from gateway.engines.answer.passages import Passage
from gateway.engines.index.query import IndexQuery, QueryTerms


class Candidate(NamedTuple):
    """A passage's row, its page's row, and its score: positive, more is better."""

    row: int
    page: int
    score: float


class PageRow(NamedTuple):
    """A page as it is stored, its content unpacked. `published`: YYYY-MM-DD, if known."""

    url: str
    title: str
    content: str
    published: str | None
    favicon: str | None


class IndexReader(Protocol):
    """Reads of one search. Every method raises what the store's driver raises."""

    def passage_total(self, limit: int) -> int:
        """How many passages there are, not counted past `limit`."""
        ...

    def counts(self, words: Sequence[str], limit: int) -> dict[str, int]:
        """In how many passages of all owners each word is, not counted past `limit`."""
        ...

    def count_visible(self, query: IndexQuery, terms: QueryTerms, limit: int) -> int:
        """How many passages of the query's owners have any of the terms, not counted past `limit`."""
        ...

    def newest_after(self, query: IndexQuery, terms: QueryTerms, skipped: int) -> int:
        """The row behind the `skipped` newest passages that `count_visible` counts; 0 when there are not so many."""
        ...

    def ranked(self, query: IndexQuery, terms: QueryTerms, after_row: int, limit: int) -> list[Candidate]:
        """The best passages by BM25 (`bm25`) with any of the terms, or of the query's phrases, that the query's owners
        and conditions allow and whose rows are above `after_row`; best first."""
        ...

    def visible_near(self, query: IndexQuery) -> dict[int, int]:
        """Of the query's near passages those that its owners and conditions allow: row to row of the page."""
        ...

    def without_vector(self, rows: Sequence[int]) -> set[int]:
        """Those of the passages that wait for their vector."""
        ...

    def names(self, pages: Sequence[int]) -> list[tuple[int, str, str]]:
        """Row, address and title of the pages."""
        ...

    def page(self, row: int, not_before: float) -> PageRow | None:
        """A page; None for one that is gone, older than `not_before` (Unix time) or damaged."""
        ...

    def passages(self, rows: Sequence[int]) -> list[Passage]:
        """The passages, in the order of their rows; those that are gone are left out."""
        ...

    def passage_counts(self, pages: Sequence[int]) -> dict[int, int]:
        """How many passages each of the pages has."""
        ...

    def passage_words(self, rows: Sequence[int]) -> list[tuple[int, str, str, str]]:
        """Row, title, headings and text of the passages as they are searched; those that are gone are left out."""
        ...
