"""Reads Markdown that a site gives as a page: its title and links, and its text without what people do not see.

Source: CommonMark 0.31.2 and GitHub's tables, rendered by markdown-it-py; front matter as Jekyll and Hugo have it.
"""

import re
from itertools import chain
from typing import Any

from gateway.domain import Json
from gateway.engines.documents.parse_pool import ExtractOptions
from gateway.engines.html.cleaning import drop_code
from gateway.engines.html.head import images_of, links_of, read_head, title_from_url
from gateway.engines.html.hidden import drop_hidden, styles_of
from gateway.engines.html.tree import MISSING, holdable, parse
from gateway.engines.markdown.writer import Writer, WriterOptions
from gateway.errors import EngineMissing

_MAX_RENDERED_CHARS = 300_000
"""A longer text stays as it is, without links: rendering it takes more than half a second."""
_FRONT_MATTER = re.compile(r"---[ \t]*\n([^\0]{0,10000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_FIELD = re.compile(r"^(title|description):[ \t]*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\n]*))$", re.MULTILINE)
_NOTE, _NOTE_MARK = re.compile(r"\[\^([^\]\s\\]{1,60})\]"), re.compile(r"\ue000([^\]\s\\]{1,60})\\?\]")
"""A footnote's mark, which CommonMark takes for a link, and its stand-in while the text is rendered."""
_SAFE_TARGET = re.compile(r"https?://|#", re.IGNORECASE)


def read_markdown(text: str, options: ExtractOptions) -> tuple[Json, str]:
    """The page's fields but for its text, and its text in the form that is asked for.

    `{kind, title, description?, links?, images?, is_partial}`: `is_partial` says that the page has no title of its own,
    or none of the links or pictures that are asked for. A text that has markup of HTML in it, or addresses that only
    hold on its own site, is written anew, so that both are treated as on any page. Raises EngineMissing.
    """
    front = _FRONT_MATTER.match(text)
    named = {name: a or b or c.strip() for name, a, b, c in _FIELD.findall(front[1])} if front is not None else {}
    body = text[front.end() :].lstrip("\n") if front is not None else text
    page: Json = {"kind": "markdown", "title": named.get("title", "")}
    if named.get("description"):
        page["description"] = named["description"]
    if len(body) > _MAX_RENDERED_CHARS:
        return {**page, "title": page["title"] or title_from_url(options.url), "is_partial": False}, body
    markup, is_clean = _rendered(_NOTE.sub("\ue000\\1]", body))
    root = parse(f"<body>{holdable(markup)}</body>")
    if root is None:
        return {**page, "title": page["title"] or title_from_url(options.url), "is_partial": True}, body
    head = read_head(root, options.url)
    drop_hidden(root, styles_of(root))
    drop_code(root)
    heading = next(root.iter("h1", "h2"), None)
    own_title = page["title"] or (" ".join("".join(heading.itertext()).split()) if heading is not None else "")
    page["title"] = own_title or head.title
    if options.links:
        page["links"] = links_of(root, root, head, routes=options.routes)
    if options.images:
        page["images"] = images_of(root, head)
    page["is_partial"] = not own_title or [] in (page.get("links"), page.get("images"))
    plain = options.format == "text"
    if is_clean and not plain:
        return page, body
    return page, _NOTE_MARK.sub(r"[^\1]", Writer(WriterOptions(head.base, plain)).write(root.find("body")))


def _rendered(text: str) -> tuple[str, bool]:
    """The text as HTML, and whether it holds neither markup of HTML nor addresses that are not absolute."""
    try:
        from markdown_it import MarkdownIt  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise EngineMissing(MISSING) from error
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.validateLink = lambda _: True  # what no page may lead to goes when it is written
    tokens = parser.parse(text)
    inner: list[Any] = list(chain.from_iterable(token.children or () for token in tokens))
    is_clean = all(
        not token.type.startswith("html_")
        and _SAFE_TARGET.match(str(token.attrGet("href") or token.attrGet("src") or "#"))
        for token in (*tokens, *inner)
    )
    return parser.renderer.render(tokens, parser.options, {}), is_clean
