# ruff: noqa: E501 - a row for each kind
"""Sites that crawl and map walk over, with their robots.txt and sitemaps: rows of `bench.hostile_sites`.

`WALKS`: what a site answers for a path (with its query): bytes, or the name of a talk of `bench.hostile_http`.
"""

import gzip
import hashlib
from collections.abc import Callable

from bench.hostile_http import PAGE, answer

Walk = Callable[[str], bytes | str]
_MB = 1_000_000
_NONE = answer(b"", status="404 Not Found")


def _page(links: list[str], text: str = "Some words of a page. ") -> bytes:
    listed = "".join(f'<li><a href="{link}">a link to {number}</a></li>' for number, link in enumerate(links))
    return answer(
        f"<html><title>t</title><main><h1>t</h1><p>{text * 9}</p><ul>{listed}</ul></main></html>".encode(
            "utf-8", "replace"
        )
    )


def _site(links: Callable[[str], list[str]], **files: Callable[[], bytes | str]) -> Walk:
    """Pages whose links a function makes; `robots` and `sitemap` as given, else none."""

    def walk(path: str) -> bytes | str:
        for name, make in files.items():
            if path.startswith(f"/{name}"):
                return make()
        return _NONE if path.startswith(("/robots", "/sitemap", "/favicon")) else _page(links(path), path[:50])

    return walk


def _robots(body: bytes, links: int = 5) -> Walk:
    return _site(lambda path: [f"/p/{n}" for n in range(links)], robots=lambda: answer(body, kind="text/plain"))


def _sitemap(make: Callable[[], bytes], kind: str = "application/xml") -> Walk:
    robots = b"Sitemap: http://127.0.0.1:{port}/sitemap.xml\n"
    return _site(
        lambda path: ["/a"],
        robots=lambda: answer(robots.replace(b"{port}", b"{port}"), kind="text/plain"),
        sitemap=lambda: answer(make(), kind=kind),
    )


def _hash(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:12]


_MAP = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">%s</urlset>'
_INDEX = b'<?xml version="1.0"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">%s</sitemapindex>'


def _indexes(path: str) -> bytes | str:
    """Every sitemap is an index of a thousand more."""
    if path.startswith("/robots"):
        return answer(b"Sitemap: http://127.0.0.1:{port}/sitemap.xml\n" * 2_000, kind="text/plain")
    if path.startswith("/sitemap"):
        rows = b"".join(
            b"<sitemap><loc>http://127.0.0.1:{port}/sitemap-%s-%d</loc></sitemap>" % (_hash(path).encode(), n)
            for n in range(1_000)
        )
        body = _INDEX % rows
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nConnection: close\r\n\r\n" + body
    return _page(["/a"])


def _broken_for(prefix: str, talk: str) -> Walk:
    return lambda path: talk if path.startswith(prefix) else _page([f"/p/{n}" for n in range(9)])


def _others(status: str, *headers: str) -> Walk:
    return lambda path: _page([f"/p/{n}" for n in range(50)]) if path == "/" else answer(b"", *headers, status=status)


WALKS: dict[str, Walk] = {
    "endless": _site(lambda path: [f"/{_hash(path + str(n))}" for n in range(30)]),
    "deep": _site(lambda path: [path.rstrip("/") + "/a"]),
    "wide": _site(lambda path: [f"/{_hash(path)}/{n}" for n in range(20_000)]),
    "queries": _site(lambda path: [f"/?s={_hash(path + str(n))}" for n in range(50)]),
    "orders of queries": _site(
        lambda path: [f"/?{'&'.join(f'{(n * k) % 7}={k}' for k in range(5))}" for n in range(500)]
    ),
    "fragments": _site(lambda path: [f"/#{n}" for n in range(20_000)]),
    "long links": _site(lambda path: [f"/{_hash(path)}" + "a" * 100_000 for n in range(20)]),
    "slashes": _site(lambda path: ["/" * n + "a" for n in range(1_000)]),
    "dots": _site(lambda path: ["./" * n + "../a;b" for n in range(1_000)]),
    "cases of percents": _site(lambda path: [f"/%{n % 256:02x}%{n % 256:02X}%zz%" for n in range(2_000)]),
    "odd links": _site(
        lambda path: [
            "http://[",
            "http://[::1",
            "http://a:b",
            "//",
            "///",
            "http:",
            "http:a",
            "?",
            "#",
            "\\\\a",
            "http://\u0000",
            "http://a b/",
            "http://%00/",
            "http://\u2488com/",
            "\ud800",
            "mailto:a@b",
            "http://a:99999/",
            "data:,",
            "http://127.1:{other}/hit/a",
            "http://0x7f.1:22/",
            "http://u:p@127.0.0.1:{port}/x",
        ]
    ),
    "other hosts": _site(
        lambda path: (
            [f"http://127.0.0.{n}:22/" for n in range(2, 200)]
            + ["http://localhost:{other}/hit/b", "http://[::1]:{other}/hit/c"]
        )
    ),
    "to elsewhere": lambda path: (
        _page([f"/r/{n}" for n in range(20)])
        if path == "/"
        else answer(b"", "Location: http://169.254.169.254/", status="302 x")
    ),
    "to each other": lambda path: (
        _page(["/a"]) if path == "/" else answer(b"", f"Location: /{_hash(path)}", status="302 x")
    ),
    "slow pages": _broken_for("/p/", "drips its body"),
    "silent pages": _broken_for("/p/", "never answers"),
    "endless pages": _broken_for("/p/", "never ends"),
    "slow robots": _broken_for("/robots", "drips its body"),
    "silent robots": _broken_for("/robots", "never answers"),
    "endless robots": _broken_for("/robots", "never ends"),
    "endless head of robots": _broken_for("/robots", "headers for ever"),
    "slow sitemap": _broken_for("/sitemap", "drips its body"),
    "endless sitemap": _broken_for("/sitemap", "never ends"),
    "reset robots": _broken_for("/robots", "resets at once"),
    "robots to itself": _site(lambda path: ["/a"], robots=lambda: answer(b"", "Location: /robots.txt", status="301 x")),
    "robots to elsewhere": _site(
        lambda path: ["/a"], robots=lambda: answer(b"", "Location: http://169.254.169.254/robots.txt", status="301 x")
    ),
    "robots 500": _site(lambda path: ["/a"], robots=lambda: answer(b"", status="500 x")),
    "robots 429": _site(lambda path: ["/a"], robots=lambda: answer(b"", "Retry-After: 1e99", status="429 x")),
    "robots of rules": _robots(b"User-agent: *\n" + b"Disallow: /q/*a*b*c$\n" * 90_000, 200),
    "robots of stars": _robots(b"User-agent: *\nDisallow: /" + b"*p" * 90_000 + b"x$\n", 50),
    "robots of many stars": _robots(b"User-agent: *\n" + b"Disallow: *p*/*1*0*p*x$\n" * 50_000, 200),
    "robots of agents": _robots(b"User-agent: a\n" * 300_000),
    "robots of groups": _robots(b"User-agent: *\nAllow: /\n" * 200_000),
    "robots' delay": _robots(b"User-agent: *\nCrawl-delay: 1e99\n"),
    "robots' negative delay": _robots(b"User-agent: *\nCrawl-delay: -5\nCrawl-delay: nan\nCrawl-delay: inf\n"),
    "robots' delays": _robots(b"User-agent: *\nRequest-rate: 1/99999999999999\nCrawl-delay: 9999999\n"),
    "robots of one line": _robots(b"User-agent: *\nDisallow: /" + b"a" * 4 * _MB),
    "robots of bytes": _robots(bytes(range(256)) * 9_000),
    "robots of returns": _robots(b"\r" * 4 * _MB),
    "robots a page": _robots(PAGE * 999),
    "robots of nothing": _robots(b""),
    "robots packed": lambda path: (
        answer(gzip.compress(b"Disallow: /a\n" * 3 * _MB), "Content-Encoding: gzip", kind="text/plain")
        if path.startswith("/robots")
        else _page(["/a"])
    ),
    "robots of sitemaps": _robots(b"Sitemap: http://127.0.0.1:{port}/sitemap-x\n" * 50_000),
    "robots of other sitemaps": _robots(
        b"".join(b"Sitemap: http://127.0.0.%d:22/s\n" % (n % 250 + 2) for n in range(5_000))
        + b"Sitemap: http://127.0.0.1:{other}/hit/map\nSitemap: file:///etc/passwd\n"
    ),
    "indexes": _indexes,
    "sitemap of itself": _sitemap(lambda: _INDEX % (b"<sitemap><loc>/sitemap.xml</loc></sitemap>" * 9_000)),
    "sitemap of many": _sitemap(
        lambda: _MAP % b"".join(b"<url><loc>http://127.0.0.1/x/%d</loc></url>" % n for n in range(100_000))
    ),
    "sitemap of elsewhere": _sitemap(
        lambda: _MAP % b"".join(b"<url><loc>http://127.0.0.%d:22/</loc></url>" % (n % 250 + 2) for n in range(30_000))
    ),
    "sitemap of nothing": _sitemap(lambda: b""),
    "sitemap in depth": _sitemap(lambda: b"<url>" * 900_000),
    "sitemap of empty": _sitemap(lambda: _MAP % (b"<url/>" * 800_000)),
    "sitemap of one": _sitemap(lambda: _MAP % (b"<url><loc>/" + b"a" * 4 * _MB + b"</loc></url>")),
    "sitemap laughs": _sitemap(
        lambda: (
            b'<!DOCTYPE a [<!ENTITY b "'
            + b"x" * 90_000
            + b'">]>'
            + _MAP % (b"<url><loc>&b;&b;&b;&b;</loc></url>" * 9_000)
        )
    ),
    "sitemap from outside": _sitemap(
        lambda: b'<!DOCTYPE a SYSTEM "http://127.0.0.1:{other}/hit/dtd">' + _MAP % b"<url><loc>/a</loc></url>"
    ),
    "sitemap of lines": _sitemap(lambda: b"http://127.0.0.1:{port}/a\n" * 150_000, "text/plain"),
    "sitemap of bytes": _sitemap(lambda: bytes(range(256)) * 15_000),
    "sitemap of dates": _sitemap(
        lambda: (
            _MAP
            % (
                b"<url><loc>/a</loc><lastmod>99999-99-99T99:99:99+99:99</lastmod><priority>1e999</priority></url>"
                * 30_000
            )
        )
    ),
    "sitemap packed": _sitemap(
        lambda: gzip.compress(_MAP % (b"<url><loc>/a</loc></url>" * 3 * _MB)), "application/gzip"
    ),
    "pauses": _others("429 x", "Retry-After: 3"),
    "long pauses": _others("429 x", "Retry-After: 1e99"),
    "failures": _others("500 x"),
    "resets": _broken_for("/p/", "resets at once"),
    "all alike": _site(lambda path: [f"/{_hash(path + str(n))}" for n in range(99)]),
    "big pages": lambda path: answer(b"<a href=/%s>x</a>" % _hash(path).encode() + b"<p>words" * 500_000),
    "base elsewhere": lambda path: answer(
        b'<base href="http://127.0.0.1:{other}/hit/base/"><meta http-equiv=refresh content="0;url=http://127.0.0.1:{other}/hit/refresh"><link rel=canonical href="http://127.0.0.1:{other}/hit/canonical"><a href=x>y</a>'
        + PAGE
    ),
    "canonical elsewhere": lambda path: answer(
        b'<link rel=canonical href="http://victim.example/">' + PAGE + b"<a href=/%s>x</a>" % _hash(path).encode()
    ),
    "cookies": lambda path: answer(
        PAGE + b"<a href=/%s>x</a>" % _hash(path).encode(),
        *(f"Set-Cookie: {_hash(path)}{n}=v{'a' * 300}" for n in range(100)),
    ),
}
