"""The pages of documentation on the operations listener.

They come with contents and a search, for people and for the web tools. Without the extra `web` they are served as they
were written, as Markdown.
"""

import functools
import html
import importlib.util
import itertools
import re
from collections.abc import Callable, Mapping
from importlib import resources

from aiohttp import web

from gateway.domain import Json

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{title}</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/console/documents.css"><script type="module" src="/console/documents.js"></script></head>
<body><nav aria-label="Documentation"><p id="places"><a href="/docs/">Contents</a></p>
<form role="search"><label for="search">Search</label> <input id="search" type="search" autocomplete="off"></form>
<ul id="found" hidden></ul><ul>{links}</ul></nav>
<main>{contents}<article>{body}</article></main></body></html>
"""

PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
}
_MADE = {**PAGE_HEADERS, "X-Robots-Tag": "noindex"}
"""Of pages that are made from others or from schemas: a search finds the prose instead."""
_NOT_IN_SLUGS = re.compile(r"[^\w\- ]")
_MAX_FOUND_CHARS = 400
"""Characters of a section's text that the search sees beside its heading; the file of all pages is then 150 KB."""

_GROUP = re.compile(r"^\| ([a-z][^|]{2,60}) \| (\[[^|\n]+|a first[^|\n]+) \|$", re.MULTILINE)
_PAGE_LINK = re.compile(r"\]\((?:docs/)?([\w-]+)\.md\)")
"""A row of the README's table of what to read next, and the pages that it names."""

_FILE_TYPES = {".png": "image/png", ".svg": "image/svg+xml", ".json": "application/json", ".yml": "text/plain"}


class DocumentPages:
    """`GET /docs/` lists the pages, `/docs/NAME` is one, `/docs/search.json` what the search reads,
    `/docs/pictures/NAME` and `/docs/grafana/NAME` files that they name.

    `more`: pages that are made, by name: functions that give their Markdown.
    """

    def __init__(self, more: Mapping[str, Callable[[], str]]) -> None:
        self._more = more

    # Read at the first request for documentation: most processes serve none, and it takes a megabyte.

    @functools.cached_property
    def _pages(self) -> Mapping[str, str]:
        folder = resources.files("gateway_docs")
        names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".md"))
        pages = {name.removesuffix(".md"): folder.joinpath(name).read_text(encoding="utf-8") for name in names}
        return dict(sorted({**pages, **{name: make() for name, make in self._more.items()}}.items()))

    @functools.cached_property
    def _titles(self) -> Mapping[str, str]:
        return {name: _title(name, text) for name, text in self._pages.items()}

    @functools.cached_property
    def _files(self) -> Mapping[tuple[str, str], bytes]:
        folder = resources.files("gateway_docs")
        return {
            (name, entry.name): entry.read_bytes()
            for name in ("grafana", "pictures")
            for entry in (folder.joinpath(name).iterdir() if folder.joinpath(name).is_dir() else ())
            if entry.name.endswith(tuple(_FILE_TYPES))
        }

    def _listed(self, base: str) -> str:
        """All pages as items of a list, in groups as the README's last table has them; then those it does not name."""
        rest = dict.fromkeys(name for name in self._titles if name != "readme")
        groups = {"begin": ["readme"]}
        for purpose, cells in _GROUP.findall(self._pages["readme"]):
            groups[purpose] = [name for name in map(str.lower, _PAGE_LINK.findall(cells)) if rest.pop(name, "") is None]
        return "".join(
            f"<li>{html.escape(group)}<ul>"
            + "".join(f'<li><a href="{base}{name}">{html.escape(self._titles[name])}</a></li>' for name in names)
            + "</ul></li>"
            for group, names in {**groups, "more": list(rest)}.items()
            if names
        )

    def add_to(self, app: web.Application) -> None:
        """Add the routes."""
        app.router.add_get("/docs", self.move)
        app.router.add_get("/docs/", self.contents)
        app.router.add_get("/docs/search.json", self.search)
        app.router.add_get("/docs/{folder:pictures|grafana}/{name}", self.file)
        app.router.add_get("/docs/{page:.+}", self.page)

    async def move(self, request: web.Request) -> web.Response:
        """To the contents."""
        raise web.HTTPMovedPermanently("/docs/")

    async def contents(self, request: web.Request) -> web.Response:
        """The list of pages, as HTML."""
        title = "Documentation of the gateway"
        return self._html(title, "", f"<h1>{title}</h1><ul>{self._listed('')}</ul>", _MADE)

    async def page(self, request: web.Request) -> web.Response:
        """One page as HTML, or as Markdown without the [web] extra; 404 for an unknown one. Names as the files link to
        each other in the repository (`docs/errors.md`) are redirected."""
        path = request.match_info["page"]
        name = path.rsplit("/", 1)[-1].removesuffix(".md").lower()
        text = self._pages.get(name)
        if text is not None and name != path:
            raise web.HTTPMovedPermanently(f"/docs/{name}")
        if text is None:
            raise web.HTTPNotFound(text="no such page; see /docs/")
        headers = _MADE if name in self._more else PAGE_HEADERS
        if importlib.util.find_spec("markdown_it") is None:  # the [web] extra is absent
            return web.Response(text=text, content_type="text/markdown", charset="utf-8", headers=headers)
        contents, body = _rendered(text.replace("](docs/pictures/", "](pictures/"))  # of the README
        return self._html(self._titles[name], contents, body, headers)

    async def search(self, request: web.Request) -> web.Response:
        """`[{page, title, heading, anchor, text}]`, a section each."""
        return web.json_response(self._sections, headers=PAGE_HEADERS)

    async def file(self, request: web.Request) -> web.Response:
        """A file that the pages show or link to."""
        name = request.match_info["name"]
        content = self._files.get((request.match_info["folder"], name))
        if content is None:
            raise web.HTTPNotFound(text="no such file; see /docs/")
        kind = _FILE_TYPES["." + name.rpartition(".")[2]]
        return web.Response(body=content, content_type=kind, headers=PAGE_HEADERS)

    def _html(self, title: str, contents: str, body: str, headers: Mapping[str, str]) -> web.Response:
        text = _PAGE.format(title=html.escape(title), links=self._listed("/docs/"), contents=contents, body=body)
        return web.Response(text=text, content_type="text/html", charset="utf-8", headers=headers)

    @functools.cached_property
    def _sections(self) -> list[Json]:
        return [
            section for name, text in self._pages.items() for section in _sections_of(name, self._titles[name], text)
        ]


def _title(name: str, text: str) -> str:
    first = text.split("\n", 1)[0]
    return first.removeprefix("# ").strip() if first.startswith("# ") else name


@functools.lru_cache(maxsize=64)
def _rendered(text: str) -> tuple[str, str]:
    """A page's contents and body. Headings get the anchors of GitHub, so that links hold in both places."""
    parser = importlib.import_module("markdown_it").MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(text)
    seen: dict[str, int] = {}
    items = []
    for opening, inline in itertools.pairwise(tokens):
        if opening.type == "heading_open":
            words = "".join(each.content for each in inline.children or [])
            anchor = _anchor(words, seen)
            opening.attrSet("id", anchor)
            if opening.tag in ("h2", "h3"):
                items.append(f'<li class="{opening.tag}"><a href="#{anchor}">{html.escape(words)}</a></li>')
    contents = f'<nav class="contents" aria-label="On this page"><ul>{"".join(items)}</ul></nav>' if items else ""
    return contents, parser.renderer.render(tokens, parser.options, {})


def _anchor(words: str, seen: dict[str, int]) -> str:
    slug = _NOT_IN_SLUGS.sub("", words.strip().lower()).replace(" ", "-")
    count = seen.get(slug, 0)
    seen[slug] = count + 1
    return f"{slug}-{count}" if count else slug


def _sections_of(name: str, title: str, text: str) -> list[Json]:
    """The sections of a page, each with the beginning of its text."""
    seen: dict[str, int] = {}
    sections = [{"page": name, "title": title, "heading": "", "anchor": "", "text": ""}]
    is_code = False
    for line in text.split("\n"):
        is_code ^= line.startswith("```")
        if line.startswith("#") and not is_code:
            words = line.lstrip("#").strip().replace("`", "")
            sections.append(
                {"page": name, "title": title, "heading": words, "anchor": _anchor(words, seen), "text": ""}
            )
        elif len(sections[-1]["text"]) < _MAX_FOUND_CHARS:
            sections[-1]["text"] = f"{sections[-1]['text']} {line.strip()}"[:_MAX_FOUND_CHARS]
    return sections[1:] or sections
