"""Domains that bind a hosted web search: a host means itself and its subdomains, a path after it the pages
below it. Pure.

Source: Anthropic API reference (web search tool, domain filtering), OpenAI API reference, read 2026-11-22.
"""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from gateway.engines.fetch.urls import canonical
from gateway.services.websearch.filters import domain_of, on_domain

_HOST = re.compile(r"[\w-]++(?:\.[\w-]++)*+")


def checked(text: str) -> str | None:
    """`docs.example.org` or `example.org/blog` of a domain as people write it; None for what is none."""
    host, path = domain_of(text), _path(text)
    if not _HOST.fullmatch(host) or any(each in path for each in "?#*\\ "):
        return None
    return host + path


def hosts(domains: Iterable[str]) -> tuple[str, ...]:
    """The hosts of checked domains, each once."""
    return tuple(dict.fromkeys(each.partition("/")[0] for each in domains))


def whole_hosts(domains: Iterable[str]) -> tuple[str, ...]:
    """Those of checked domains that have no path."""
    return tuple(each for each in domains if "/" not in each)


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
