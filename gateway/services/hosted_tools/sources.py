"""The pages that a model was shown in one answer, numbered so that it can cite them."""

from collections.abc import Iterable

from gateway.engines.fetch.urls import canonical
from gateway.wire.hosted_answer import Source

MAX_SOURCES = 500
"""Pages of one answer. Ten searches of twenty results and what they open stay below half of it; it bounds what an
answer with another `max_calls` can hold. Later pages are shown without a number."""


class Sources:
    """Sources by number and by address; all spellings of one address are one source."""

    def __init__(self) -> None:
        self._by_number: dict[int, Source] = {}
        self._by_url: dict[str, Source] = {}
        self._spellings: set[str] = set()

    def __len__(self) -> int:
        return len(self._by_number)

    def add(self, url: str, title: str) -> Source | None:
        """The source of this address, a new one at the end if it has none. None: no web address, or too many."""
        key = _key(url)
        if key is None:
            return None
        known = self._by_url.get(key)
        if known is None and len(self) < MAX_SOURCES:
            known = Source(max(self._by_number, default=0) + 1, url, title or url)
            self._by_number[known.number] = self._by_url[key] = known
        self._spellings.add(_bare(url))
        return known

    def restore(self, sources: Iterable[Source]) -> None:
        """Take over sources of an earlier answer of the same turn, with their numbers."""
        for source in sources:
            key = _key(source.url)
            if key is not None and key not in self._by_url and source.number not in self._by_number:
                self._by_number[source.number] = self._by_url[key] = source
                self._spellings.add(_bare(source.url))

    def numbered(self, number: int) -> Source | None:
        """The source with this number."""
        return self._by_number.get(number)

    def at(self, url: str) -> Source | None:
        """The source with this address, however it is spelt. None for every text of which `may_begin` is false."""
        key = _key(url) if url.startswith("http") and self.may_begin(url) else None
        return self._by_url.get(key) if key is not None else None

    def may_begin(self, text: str) -> bool:
        """Whether `text`, or text that begins with it, may be the address of a source. False stays false for longer
        texts, so that a stream need not wait for the end of other addresses."""
        bare = _bare(text)
        return any(each.startswith(bare) or bare.startswith(each) for each in self._spellings)

    def continues(self, text: str) -> bool:
        """Whether the address of a source begins with `text`."""
        bare = _bare(text)
        return any(each.startswith(bare) for each in self._spellings)


def _key(url: str) -> str | None:
    normal = canonical(url)
    return normal.rstrip("/") if normal is not None else None


def _bare(url: str) -> str:
    """An address in the form in which beginnings are compared: spellings of one differ in case and the last slash."""
    return url.partition("://")[2].lower().rstrip("/")
