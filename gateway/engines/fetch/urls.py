"""URLs: which are well-formed enough to fetch, and the canonical form that all spellings of one page share.

The host is the one that yarl reads, as aiohttp connects to that one; parsers disagree about userinfo,
backslashes, blanks and percent signs, so a URL whose authority has one of these is refused.
Canonical form: WHATWG URL standard without the usual tracking parameters, read 2026-11-21.
"""

import functools
import re
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urljoin

from yarl import URL

from gateway.engines.fetch.errors import SkippedUrl

MAX_URL_CHARS = 2000  # what browsers and proxies have long allowed
_MAX_HOST_CHARS = 253  # from RFC 1035 §2.3.4: 255 octets on the wire
_REMEMBERED, _REMEMBERED_CHARS = 4_096, 400
"""Resolved references that a process remembers, and the longest of them: a page names the same places again and
again."""
_AUTHORITY = re.compile(r"^(https?)://([^/?#]*)", re.IGNORECASE)
_BAD_CHARS = re.compile(r"[\x00-\x20\x7f\\]")
_HOST = re.compile(r"^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?$")
_NUMERIC_LABEL = re.compile(r"^(0x[0-9a-f]*|[0-9]+)$")
_BARE_HOST = re.compile(r"^[\w-]++(\.[\w-]+){0,126}\.[a-z]{2,}(:\d+)?([/?#]|$)", re.IGNORECASE)
_LOCAL_HOST = re.compile(r"^(localhost|\d{1,3}(\.\d{1,3}){3})(:\d{1,5})?([/?#]|$)", re.IGNORECASE)
"""The beginning of an address without a scheme that a person means to be http: of this machine or network."""
_QUOTES = frozenset(("<>", '""', "''", "``", "“”"))  # pairs of signs that people and models put around an address
_SESSION_PATH = re.compile(r";(jsessionid|phpsessid|sid)=[^/;?]*", re.IGNORECASE)
_TRACKERS = frozenset(
    {
        "fbclid", "gclid", "dclid", "msclkid", "yclid", "twclid", "igshid", "mc_cid", "mc_eid", "ref_src",
        "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok", "sid", "sessionid", "phpsessid", "jsessionid",
    }
)  # fmt: skip
# "Bad ports" of the WHATWG fetch standard, and those of common databases: no public web server listens there.
_BAD_PORTS = frozenset(
    {
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
        109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526,
        530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3306, 3389,
        3659, 4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 9200, 10080,
        11211, 27017,
    }
)  # fmt: skip


def parse_url(raw: str) -> URL:
    """The URL to connect to, without its fragment. Raises SkippedUrl for anything but a well-formed http(s) URL."""
    if len(raw) > MAX_URL_CHARS:
        raise SkippedUrl(f"the URL is longer than {MAX_URL_CHARS} characters")
    match = _AUTHORITY.match(raw)
    if match is None:
        raise SkippedUrl("only absolute http:// and https:// URLs can be fetched")
    if _BAD_CHARS.search(raw) or "@" in match[2] or "%" in match[2]:
        raise SkippedUrl(
            "the URL holds a blank, a backslash, a control character or credentials; remove or escape them"
        )
    try:
        url = URL(raw).with_fragment(None)
        host, port = url.raw_host, url.port  # raw_host: the ASCII form of an international name, which is looked up
    except (ValueError, UnicodeError) as error:
        raise SkippedUrl("the URL is malformed") from error
    if not host or url.user is not None or port is None:
        raise SkippedUrl("the URL names no host")
    if port in _BAD_PORTS:
        raise SkippedUrl(f"no web server uses the port {port} that the URL names")
    check_host(host)
    return url


def check_host(host: str) -> None:
    """Raises SkippedUrl for a host that a resolver may read as an address but a parser as a name (`0x7f.1`,
    `2130706433`).

    `host` is lower-case ASCII.
    """
    if ":" in host:  # an IPv6 literal: the address policy checks which
        try:
            IPv6Address(host)
        except ValueError as error:
            raise SkippedUrl("the URL's host is malformed") from error
        return
    if len(host) > _MAX_HOST_CHARS or not _HOST.match(host):
        raise SkippedUrl("the URL's host is malformed")
    if _NUMERIC_LABEL.match(host.rstrip(".").rpartition(".")[2]):
        try:
            IPv4Address(host)
        except ValueError as error:
            raise SkippedUrl() from error


def from_caller(raw: str) -> str:
    """A URL as a person or agent types it, made absolute: blanks trimmed or escaped, quotation marks and a Markdown
    link around it taken away, a missing scheme added (http for an IPv4 address and localhost, else https)."""
    text = raw.strip()
    if text.startswith("[") and text.endswith(")") and "](" in text:
        text = text.rpartition("](")[2][:-1].strip()
    if text[:1] + text[-1:] in _QUOTES:
        text = text[1:-1]
    text = text.strip("<> ")
    if text.startswith("//"):
        text = ("http:" if _LOCAL_HOST.match(text[2:]) else "https:") + text
    elif "://" not in text and _LOCAL_HOST.match(text):
        text = "http://" + text
    elif "://" not in text and _BARE_HOST.match(text):
        text = "https://" + text
    return text.replace(" ", "%20")


def join(base: str, reference: str) -> str | None:
    """`reference` resolved against `base`; None when the result is no http(s) URL."""
    reference = "".join(reference.split("\n")).strip().replace("\t", "").replace(" ", "%20")
    target, _, fragment = reference.partition("#")
    if not target or not fragment or "\r" in fragment:
        target, fragment = reference, ""
    try:
        joined = _joined(base, target) if len(base) + len(target) <= _REMEMBERED_CHARS else urljoin(base, target)
    except ValueError:
        return None
    joined = f"{joined}#{fragment}" if fragment else joined
    return joined if joined[:7].lower() == "http://" or joined[:8].lower() == "https://" else None


_joined = functools.lru_cache(maxsize=_REMEMBERED)(urljoin)


def canonical(raw: str) -> str | None:
    """The canonical spelling of a page's URL; None for a URL, or a spelling, that `parse_url` refuses.

    Lower-case host, no default port, dot segments resolved, query sorted, no trackers, session ids or fragment, but for
    a route of the client, `#!/…`, which names a page of its own.
    """
    try:
        url = parse_url(raw)
    except SkippedUrl:
        return None
    if url.raw_query_string:
        pairs = sorted((k, v) for k, v in url.query.items() if not _is_tracker(k))
        url = url.with_query(pairs or None)
    if ";" in url.raw_path:
        url = url.with_path(_SESSION_PATH.sub("", url.raw_path), encoded=True, keep_query=True)
    normal = str(url) + route_of(raw)
    return (
        normal if len(normal) <= MAX_URL_CHARS else None
    )  # escapes make letters of other scripts up to nine times longer


def route_of(raw: str) -> str:
    """`#!/…` at the end of an address that `parse_url` takes: a page that the site's scripts draw; "" where there is
    none. Source: Google's scheme for crawlable AJAX applications, read 2026-11-22."""
    if "#!/" not in raw:
        return ""
    fragment = URL(raw).raw_fragment
    return f"#{fragment}" if fragment.startswith("!/") else ""


def _is_tracker(name: str) -> bool:
    lowered = name.lower()
    return lowered.startswith("utm_") or lowered in _TRACKERS


def site_of(host: str) -> str:
    """The host without a leading `www.`, as the two are one site for a crawl."""
    return host.removeprefix("www.")
