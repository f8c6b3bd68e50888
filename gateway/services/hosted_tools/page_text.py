"""Search results and pages as a model reads them: plain text with the numbers that it cites by. Pure."""

from collections.abc import Iterator, Sequence

from gateway.domain import Json
from gateway.services.hosted_tools.sources import Sources
from gateway.wire.hosted_answer import Source

_MAX_MATCHES = 8
"""Places of a page that a search in it shows."""
_AROUND_CHARS = 300
"""Text shown before and after a match. Two sentences."""


def search_text(results: Sequence[Json], sources: Sources, note: str = "") -> str:
    """Numbered results, `{title, url, content, published_date?}`, and the provider's note."""
    parts = [_result_text(result, sources) for result in results] or ["Nothing was found."]
    return "\n\n".join([*parts, note] if note else parts)


def _result_text(result: Json, sources: Sources) -> str:
    source = sources.at(result["url"])
    lines = [f"{_number(source)}{result['title'] or result['url']}", result["url"]]
    if result.get("published_date"):
        lines.append(f"Published: {result['published_date']}")
    return "\n".join([*lines, result["content"]]).rstrip()


def open_text(title: str, url: str, text: str, source: Source | None) -> str:
    """A page with its number."""
    return f"{_number(source)}{title or url}\n{url}\n\n{text}"


def find_in(text: str, pattern: str, source: Source | None) -> str:
    """The places of a page that contain `pattern`, each with the text around it."""
    places = list(_places(text, pattern.strip()))
    shown = "\n\n".join(f"…{text[max(0, at - _AROUND_CHARS) : at + len(pattern) + _AROUND_CHARS]}…" for at in places)
    head = f"{_number(source)}{len(places)} places with this text" if places else "The page has no such text."
    return f"{head}\n\n{shown}" if places else head


def _places(text: str, pattern: str) -> Iterator[int]:
    """The first _MAX_MATCHES places, each behind the text that is shown around the one before."""
    low, wanted, start = _lower(text), _lower(pattern), 0
    for _ in range(_MAX_MATCHES):
        at = low.find(wanted, start)
        if at < 0:
            return
        yield at
        start = at + len(wanted) + _AROUND_CHARS


def _lower(text: str) -> str:
    """The text in lower case with the same length, so that places in one are places in the other: a few capital letters
    have two small ones."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(each.lower()[0] for each in text)


def _number(source: Source | None) -> str:
    return f"[{source.number}] " if source is not None else ""
