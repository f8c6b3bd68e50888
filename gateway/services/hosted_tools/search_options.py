"""Options of hosted web search, checked once: of the responses tool, of the chat route, and of the messages route.

Shapes: schemas/web_search.json. Source: OpenAI API reference (web search tool, `web_search_options`), read
2026-11-22.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from gateway import schemas
from gateway.domain import Json
from gateway.engines.fetch.urls import canonical
from gateway.errors import InvalidRequest
from gateway.services.websearch.filters import domain_of, on_domain

_SCHEMA = schemas.load("web_search")
_CHECKERS = {
    name: schemas.Checker({"$defs": _SCHEMA["$defs"], **_SCHEMA["$defs"][name]}) for name in ("tool", "options")
}
_COUNTRY = re.compile(r"[A-Za-z]{2}")
_COUNTRIES: Mapping[str, str] = {
    code.upper(): name for name, codes in schemas.load("country")["x-codes"].items() for code in codes
}
_HOST = re.compile(r"[\w-]++(?:\.[\w-]++|(?!))*+")
_PLACE = ("city", "region", "country", "timezone")
SIZES = ("low", "medium", "high")
SEARCH, OPEN, FIND = "web_search", "open_page", "find_in_page"
FUNCTIONS = (SEARCH, OPEN, FIND)
"""What a model can be offered."""
_CHARS_PER_TOKEN = 4
"""Characters of a token in `max_content_tokens`: the rule of thumb for English text, as in estimates of usage."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What a caller asks of hosted web search.

    `size`: `low`, `medium` or `high`. `domains`: only what is on these (`is_within`), all when empty;
    `excluded`: nothing on these. `location`: `city`, `region`, `country` (ISO 3166-1 alpha-2) and `timezone`, as far as
    known.
    `external`: False searches the local index alone and opens no page. `functions`: what the model is offered, the one
    that may be forced first. `max_page_chars`: of a page that is opened; None: by `size`.
    """

    size: str = "medium"
    domains: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    location: Mapping[str, str] = field(default_factory=dict)
    external: bool = True
    functions: tuple[str, ...] = FUNCTIONS
    max_page_chars: int | None = None

    @property
    def country(self) -> str | None:
        """The country's name as the web tools take it; None where it is not given or no provider knows it."""
        return _COUNTRIES.get(self.location.get("country", ""))


def of_tool(tool: Json, where: str) -> SearchOptions:
    """The options of a responses tool, `where` being its path (`tools[0]`). Raises InvalidRequest naming the field."""
    _check("tool", tool, where)
    filters, at = tool.get("filters") or {}, f"{where}.filters"
    return SearchOptions(
        size=tool.get("search_context_size") or "medium",
        domains=checked_domains(filters.get("allowed_domains"), f"{at}.allowed_domains"),
        excluded=checked_domains(filters.get("blocked_domains"), f"{at}.blocked_domains"),
        location=checked_location(tool.get("user_location"), f"{where}.user_location"),
        external=tool.get("external_web_access") is not False,
    )


def of_chat(options: Json, where: str = "web_search_options") -> SearchOptions:
    """The options of the chat route. Raises InvalidRequest naming the field."""
    _check("options", options, where)
    place = (options.get("user_location") or {}).get("approximate")
    return SearchOptions(
        size=options.get("search_context_size") or "medium",
        location=checked_location(place, f"{where}.user_location.approximate"),
    )


def of_messages(
    search: tuple[Json, str] | None, fetch: tuple[Json, str] | None = None, *, fetches_first: bool = False
) -> SearchOptions:
    """The options of the web tools of a messages request (schemas/messages.json), each with its path. Domains of either
    bind both. `fetches_first`: a page must be opened first. Raises InvalidRequest."""
    tools = [each for each in (search, fetch) if each is not None]
    for tool, where in tools:
        if tool.get("allowed_domains") and tool.get("blocked_domains"):
            raise InvalidRequest(f"{where}: has allowed_domains and blocked_domains; leave one out", param=where)
    found = (SEARCH,) if search is not None else ()
    pages = (OPEN, FIND)
    limit = fetch[0].get("max_content_tokens") if fetch is not None else None
    return SearchOptions(
        domains=_common_domains(tools, "allowed_domains"),
        excluded=_common_domains(tools, "blocked_domains"),
        location=checked_location(search[0].get("user_location"), f"{search[1]}.user_location") if search else {},
        functions=pages + found if fetches_first else found + pages,
        max_page_chars=limit * _CHARS_PER_TOKEN if limit else None,
    )


def _common_domains(tools: Sequence[tuple[Json, str]], name: str) -> tuple[str, ...]:
    """The domains that one of the tools has under this name, or both alike."""
    given = [(checked_domains(tool[name], f"{where}.{name}"), where) for tool, where in tools if tool.get(name)]
    for domains, where in given[1:]:
        if set(domains) != set(given[0][0]):
            at = f"{where}.{name}"
            raise InvalidRequest(f"{at}: must be those of {given[0][1]}, or be left out", param=at)
    return given[0][0] if given else ()


def with_defaults(tool: Json) -> Json:
    """A checked tool as a response repeats it: the caller's values, and the defaults of what it left out."""
    location = {"type": "approximate", **dict.fromkeys(_PLACE), **(tool.get("user_location") or {})}
    shown = {
        "type": tool["type"],
        "filters": tool.get("filters"),
        "search_context_size": tool.get("search_context_size") or "medium",
        "user_location": {name: location[name] for name in ("type", "city", "country", "region", "timezone")},
    }
    return {**shown, "external_web_access": False} if tool.get("external_web_access") is False else shown


def checked_domains(names: Any, where: str) -> tuple[str, ...]:
    """The domains of a checked list (`checked_domain`). Raises InvalidRequest that names the wrong one."""
    domains: dict[str, None] = {}
    for index, name in enumerate(names or ()):
        domain = checked_domain(name)
        if domain is None:
            at = f"{where}[{index}]"
            raise InvalidRequest(f"{at}: must be a host, such as docs.python.org, or a host and a path", param=at)
        domains[domain] = None
    return tuple(domains)


def checked_location(place: Any, where: str) -> Mapping[str, str]:
    """The known parts of a checked location. Raises InvalidRequest for a country that is no ISO code."""
    if not place:
        return {}
    known = {name: value for name in _PLACE if (value := place.get(name))}
    if "country" in known:
        if not _COUNTRY.fullmatch(known["country"]):
            at = f"{where}.country"
            raise InvalidRequest(f"{at}: must be an ISO 3166-1 code of two letters, such as US", param=at)
        known["country"] = known["country"].upper()
    return known


def _check(name: str, value: Any, where: str) -> None:
    problems = _CHECKERS[name].check(value, limit=1)
    if problems:
        path = f"{where}.{problems[0].path}" if problems[0].path else where
        raise InvalidRequest(f"{path}: {problems[0].message}", param=path)


def checked_domain(text: str) -> str | None:
    """`docs.example.org` or `example.org/blog` of a domain as people write it; None if it is no domain."""
    host, path = domain_of(text), _path(text)
    if not _HOST.fullmatch(host) or any(each in path for each in "?#*\\ "):
        return None
    return host + path


def is_within(url: str, domains: Iterable[str]) -> bool:
    """Whether a page is on one of the checked domains, below its path where it has one."""
    for each in domains:
        host, _, path = each.partition("/")
        if on_domain(url, (host,)) and (not path or _is_below(url, f"/{path}")):
            return True
    return False


def _path(text: str) -> str:
    """The part after the host, without a star or slash at its end; empty, or it begins with a slash."""
    path = text.strip().split("://", 1)[-1].partition("/")[2]
    return f"/{path.removesuffix('*').rstrip('/')}".rstrip("/")


def _is_below(url: str, path: str) -> bool:
    normal, wanted = canonical(url), canonical(f"http://a.example{path}")
    if normal is None or wanted is None:
        return False
    return f"{urlsplit(normal).path}/".startswith(f"{urlsplit(wanted).path}/")
