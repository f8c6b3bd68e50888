"""What a search provider cannot do itself is done to its results here: domains, dates, exact phrases.

Pure. What can be done neither there nor here is named in `ignored_parameters`.
"""

import re
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from gateway.domain import Json, SearchRequest

_QUOTED = re.compile(r'"([^"]{1,200})"')
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)", re.ASCII)
_TIME = re.compile(_DAY.pattern + r"[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_MOST_DATE_CHARS = 64
# What the service makes up for: filters below, pages read by the gateway's own engine.
_MENDED = frozenset(
    {
        "query", "max_results", "include_domains", "exclude_domains", "time_range", "start_date", "end_date",
        "exact_match", "include_raw_content", "include_favicon",
    }
)  # fmt: skip


def ignored(request: SearchRequest, capabilities: frozenset[str]) -> list[str]:
    """Arguments the caller set that nobody can honour."""
    return [
        name
        for name, default in SearchRequest._field_defaults.items()
        if getattr(request, name) != default and name not in capabilities and name not in _MENDED
    ]


def apply(results: list[Json], request: SearchRequest, capabilities: frozenset[str]) -> list[Json]:
    """The results that fit, at most `max_results`, in their order. What is given as a date is one, or is left out."""
    for result in results:
        given = result.pop("published_date", None)
        if (dated := published(given)) is not None:
            result["published_date"] = dated
    kept = results
    if request.include_domains and "include_domains" not in capabilities:
        kept = [result for result in kept if on_domain(result["url"], request.include_domains)]
    if request.exclude_domains and "exclude_domains" not in capabilities:
        kept = [result for result in kept if not on_domain(result["url"], request.exclude_domains)]
    start, end = request.days()
    if (start or end) and not _dates_done(request, capabilities):
        kept = [result for result in kept if _in_time(result, start, end)]
    if request.exact_match and "exact_match" not in capabilities:
        wanted = phrases(request.query)
        kept = [result for result in kept if _has_all(result, wanted)]
    return kept[: request.max_results]


def on_domain(url: str, domains: tuple[str, ...]) -> bool:
    """True when the URL's host is one of the domains or below one."""
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:  # no URL at all: a provider's word
        return False
    return any(host == name or host.endswith("." + name) for name in map(domain_of, domains))


def domain_of(text: str) -> str:
    """A domain as people write it (`https://www.Example.com/`, `*.example.com`) reduced to its host."""
    host = text.strip().lower()
    host = host.split("://", 1)[-1].split("/", 1)[0].split(":", 1)[0]
    return host.removeprefix("*.").removeprefix("www.").strip(".")


def _dates_done(request: SearchRequest, capabilities: frozenset[str]) -> bool:
    if request.start_date or request.end_date:
        return {"start_date", "end_date"} <= capabilities
    return "time_range" in capabilities


def _in_time(result: Json, start: date | None, end: date | None) -> bool:
    """A result without a date stays: dropping it would hide more than it helps."""
    day = published_day(result.get("published_date"))
    if day is None:
        return True
    return (start is None or day >= start) and (end is None or day <= end)


def published(value: object) -> str | None:
    """A date as ISO 8601 has it. Nobody looks through it for sensitive text, so nothing but a date may be in it."""
    if not isinstance(value, str):
        return None
    if _TIME.fullmatch(value):
        try:
            return datetime.fromisoformat(value).isoformat()
        except ValueError:  # the 30th of February
            return None
    day = published_day(value)
    return day.isoformat() if day is not None else None


def published_day(value: object) -> date | None:
    """The day of an ISO or RFC 5322 date."""
    if not isinstance(value, str):
        return None
    if _DAY.match(value):
        try:
            return date.fromisoformat(value[:10])
        except ValueError:
            return None
    try:
        return parsedate_to_datetime(value[:_MOST_DATE_CHARS]).date()
    except (ValueError, TypeError, OverflowError):  # whatever stands there: it is a provider's word
        return None


def phrases(query: str) -> list[str]:
    """The quoted phrases, or the whole query."""
    return [_folded(phrase) for phrase in _QUOTED.findall(query) or [query]]


def _has_all(result: Json, wanted: list[str]) -> bool:
    text = _folded(" ".join(str(result.get(name) or "") for name in ("title", "content", "raw_content")))
    return all(phrase in text for phrase in wanted)


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
