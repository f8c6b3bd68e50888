"""Applies to search results what their provider cannot do itself: domains, dates, exact phrases.

Arguments that neither the provider nor the service can honour are named in `ignored_parameters`. Dates: ISO 8601, and
RFC 5322 as in HTTP headers.
"""

import re
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from yarl import URL

from gateway.domain import Json, SearchRequest
from gateway.engines.words.text import strip_steps
from gateway.resilience.slices import Steps
from gateway.wire.text_walk import each_text_slot

_QUOTED = re.compile(r'"([^"]{1,200})"')
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)", re.ASCII)
_TIME = re.compile(_DAY.pattern + r"[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_MAX_DATE_CHARS = 64
"""Longest text that is parsed as an RFC 5322 date. Twice the longest honest one; the parser is not linear."""
_STEP_TEXTS = 512
"""Texts that are read in one step (half a millisecond)"""
# Arguments that the service honours itself: by the filters below, or with pages that the gateway's engine reads.
_HONOURED = frozenset(
    {
        "query", "max_results", "include_domains", "exclude_domains", "time_range", "start_date", "end_date",
        "exact_match", "include_raw_content", "include_favicon",
    }
)  # fmt: skip


def ignored(request: SearchRequest, capabilities: frozenset[str]) -> list[str]:
    """Names of the arguments that the caller set and that neither provider nor service can honour."""
    return [
        name
        for name, default in SearchRequest._field_defaults.items()
        if getattr(request, name) != default and name not in capabilities and name not in _HONOURED
    ]


def apply(results: list[Json], request: SearchRequest, capabilities: frozenset[str]) -> list[Json]:
    """The results that fit the request, at most `max_results`, in their order.

    Changes the results in place: `published_date` becomes an ISO date or date and time, or is removed.
    """
    for result in results:
        date_text = published(result.pop("published_date", None))
        if date_text is not None:
            result["published_date"] = date_text
    fitting = results
    if request.include_domains and "include_domains" not in capabilities:
        fitting = [result for result in fitting if on_domain(result["url"], request.include_domains)]
    if request.exclude_domains and "exclude_domains" not in capabilities:
        fitting = [result for result in fitting if not on_domain(result["url"], request.exclude_domains)]
    start, end = request.days()
    if (start or end) and not _dates_done(request, capabilities):
        fitting = [result for result in fitting if _in_time(result, start, end)]
    if request.exact_match and "exact_match" not in capabilities:
        required = phrases(request.query)
        fitting = [result for result in fitting if _contains_all(result, required)]
    return fitting[: request.max_results]


def on_domain(url: str, domains: tuple[str, ...]) -> bool:
    """True when the URL's host is one of the domains or a subdomain of one."""
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:  # the provider sent something that is no URL
        return False
    host = _ascii(host)
    return any(host == name or host.endswith("." + name) for name in map(_ascii, map(domain_of, domains)))


def _ascii(host: str) -> str:
    """The ASCII form of an international name, which has both spellings; as it is where there is none."""
    if host.isascii():
        return host
    try:
        return URL.build(scheme="http", host=host).raw_host or host
    except ValueError:
        return host


def domain_of(text: str) -> str:
    """The host of a domain as people write it (`https://www.Example.com/`, `*.example.com`)."""
    host = text.strip().lower()
    host = host.split("://", 1)[-1].split("/", 1)[0].split(":", 1)[0]
    return host.removeprefix("*.").removeprefix("www.").strip(".")


def _dates_done(request: SearchRequest, capabilities: frozenset[str]) -> bool:
    return ({"time_range"} if request.time_range else {"start_date", "end_date"}) <= capabilities


def _in_time(result: Json, start: date | None, end: date | None) -> bool:
    """True for a result within the dates, and for one without a date: most results have none."""
    day = published_day(result.get("published_date"))
    if day is None:
        return True
    return (start is None or day >= start) and (end is None or day <= end)


def published(value: object) -> str | None:
    """The value as an ISO 8601 date or date and time, or None.

    The sanitizer does not scan this field, so it must never contain anything but a date.
    """
    if not isinstance(value, str):
        return None
    if _TIME.fullmatch(value):
        try:
            return datetime.fromisoformat(value).isoformat()
        except ValueError:  # for instance the 30th of February
            return None
    day = published_day(value)
    return day.isoformat() if day is not None else None


def published_day(value: object) -> date | None:
    """The day of an ISO 8601 or RFC 5322 date; None for anything else."""
    if not isinstance(value, str):
        return None
    if _DAY.match(value):
        try:
            return date.fromisoformat(value[:10])
        except ValueError:
            return None
    try:
        return parsedate_to_datetime(value[:_MAX_DATE_CHARS]).date()
    except (ValueError, TypeError, OverflowError):  # the provider may send any text
        return None


def phrases(query: str) -> list[str]:
    """The quoted phrases of a query, or the whole query, each in lower case and with single blanks."""
    return [fold(phrase) for phrase in _QUOTED.findall(query) or [query]]


def _contains_all(result: Json, required: list[str]) -> bool:
    text = fold(" ".join(str(result.get(name) or "") for name in ("title", "content", "raw_content")))
    return all(phrase in text for phrase in required)


def fold(text: str) -> str:
    """The words of a text in lower case with single blanks, as texts are compared."""
    return " ".join(re.findall(r"\w+", text.lower()))


def without_invisible(answer: Json) -> Steps[int]:
    """Takes characters that nobody sees out of every text of a provider's answer, in place; how many."""
    removed = 0
    for number, slot in enumerate(each_text_slot(answer), 1):
        slot.text, count = yield from strip_steps(slot.text)
        removed += count
        if number % _STEP_TEXTS == 0:
            yield
    return removed
