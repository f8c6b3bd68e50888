"""Turns one fetched body into a page: title, content, links, images, and the metadata of its head.

Runs in the parsing processes; plain data in, plain data out. It knows no network and no index.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gateway.domain import Json
from gateway.engines.content.prune import SHOWCASES, Content, main_content
from gateway.engines.documents import simhash, sniff
from gateway.engines.documents.feeds import Feed, feed_links, feed_page, is_json_feed, read_json_feed, read_xml_feed
from gateway.engines.documents.markdown_page import read_markdown
from gateway.engines.documents.parse_pool import ExtractOptions
from gateway.engines.documents.pdf import PdfWish
from gateway.engines.documents.reader import KINDS, page_range, read_document
from gateway.engines.html.encoding import decode, decoded, text_only
from gateway.engines.html.head import Head, images_of, links_of, read_head, title_from_url
from gateway.engines.html.scripts import FEW_WORDS, EmbeddedState, read_signs
from gateway.engines.html.tree import as_html, first_elements, holdable, is_xml, parse, text_of
from gateway.engines.markdown.writer import Writer, WriterOptions
from gateway.engines.words.excerpt import excerpt
from gateway.engines.words.sections import LAST_HEADING_LEVEL, Anchor, find, outline, sections_of
from gateway.engines.words.text import count_words, strip_invisible, visible

_MAX_IDS = 20_000
"""Ids read of one page."""

_MARK = "data-gateway-ids"
_PERMALINKS = "#¶§ "
"""Signs of links to a heading itself, at its end."""


def mark_anchors(root: Any) -> None:
    """Writes onto every heading and term of a page which ids lead to it. Call it before the page is pruned, which
    removes the empty elements that many ids stand on."""
    marked: list[tuple[Any, list[str]]] = []
    waiting: list[str] = []  # ids before which no text has come since
    inside: set[Any] = set()
    count = 0
    for element in root.iter():
        if not isinstance(element.tag, str):
            continue
        if element.getparent() in inside:
            inside.add(element)
        name = element.get("id") or (element.get("name") if element.tag == "a" else None)
        if name and name.isprintable() and " " not in name and count < _MAX_IDS:
            count += 1
            (marked[-1][1] if element in inside else waiting).append(name)
        if _level(element) and element not in inside:
            inside.add(element)
            marked.append((element, waiting[::-1]))
            waiting = []
        elif waiting and marked and element not in inside and (element.text or "").strip():
            marked[-1][1].extend(waiting)
            waiting = []
    if marked:
        marked[-1][1].extend(waiting)
    for element, ids in marked:
        element.set(_MARK, " ".join(ids))


def anchors_of(region: Any) -> list[Anchor]:
    """The headings and terms of a page's content that was marked, in its order."""
    found: list[Anchor] = []
    inside: set[Any] = set()
    for element in region.iter():
        level = _level(element) if isinstance(element.tag, str) else 0
        if element.getparent() in inside:
            inside.add(element)
        elif level:
            inside.add(element)
            ids = (element.get(_MARK) or "").split()
            if found and _is_another_term(element):
                found[-1].ids += ids
            else:
                found.append(Anchor(text_of(element).rstrip(_PERMALINKS), level, ids))
    return found


def _is_another_term(element: Any) -> bool:
    """True for a term right after another one, which one description explains together."""
    before = element.getprevious()
    return element.tag == "dt" and before is not None and before.tag == "dt"


def _level(element: Any) -> int:
    """1 to 6 for a heading, more for a definition's term, 0 for any other element."""
    tag = element.tag
    if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
        return int(tag[1])
    if tag == "dt":
        return LAST_HEADING_LEVEL + sum(1 for _ in element.iterancestors("dl"))
    return 0


@dataclass(frozen=True, slots=True)
class PartWish:
    """The query and the address's fragment, each empty if there is none; the most characters (0: any) that can be
    returned; and how many sections to list of what is longer."""

    query: str = ""
    fragment: str = ""
    most_chars: int = 0
    most_sections: int = 0


def part_of(content: str, wish: PartWish, anchors: Callable[[], Sequence[Anchor]]) -> Json:
    """`{part?, sections?, lacks_section?}` of a page.

    `part`: what to return, when that is not the whole content. `sections`: `[{fragment, heading, chars}]` of a page
    that is longer than `most_chars`. `lacks_section`: true when the page has no section of that fragment.
    """
    answer: Json = {}
    is_long = 0 < wish.most_chars < len(content)
    if not (wish.query or wish.fragment or is_long):
        return answer
    part, span = content, (0, len(content))
    sections = sections_of(content, anchors()) if wish.fragment or is_long else []
    if wish.fragment:
        place = find(content, sections, wish.fragment)
        if place is None:
            answer["lacks_section"] = True
        else:
            start, end, above = place
            part, span = content[start:end].strip(), (start, end)
            way = f"{' > '.join(above)}\n\n" if above else ""
            part = f"{way}{part}"
            sections = [each for each in sections if start <= each.start and each.end <= end]
    if wish.query:
        part = excerpt(part, wish.query, wish.most_chars)
    if 0 < wish.most_chars < len(part):
        answer["sections"] = outline(content, sections, span, wish.most_chars, wish.most_sections)
    if part is not content:
        answer["part"] = part
    return answer


MAX_TEXT_CHARS = 2_000_000
"""Content of a page."""
_NO_WORDS = 8
"""A page that shows fewer words is read from the data of its scripts, if this has so many words."""
_THIN_CHARS = 200  # a text below this is next to nothing: a cookie notice, a slogan
_SCRIPTED_CHARS = 300
"""A page with scripts and less content than this is reported as one that needs JavaScript."""
_DESCRIPTION_CHARS = 500


def extract(body: bytes, options: ExtractOptions) -> Json:
    """The page. Raises Unreadable, EngineMissing.

    `{kind, title, content, hash, simhash, invisible}`, for documents and pictures `scanned?`: the pages
    without text, for documents `{left_out, missing_parts?, unread_pages?}` (engines.documents.reader.ReadDocument), for
    feeds `links?` of their items, for Markdown `{is_partial, links?, images?}`
    (engines.documents.markdown_page), `{part?, sections?, lacks_section?}` as `engines.documents.page`
    has them, and for HTML `{canonical, refresh, published, noindex, lang, favicon, description, scripted, login,
    needs_browser, page_type, styles_ignored, encoding_guessed?, markdown, links?, images?}`. `markdown`: where the page
    says that it is to be had as Markdown, or None. `invisible` counts characters that nobody sees and that were taken
    out (engines.words.text); `styles_ignored`: the page hides most of its own text, which was read all
    the same (engines.html.hidden). `content` is empty for a page without text; then `login` says whether it asks for a
    password, `scripted` whether it needs JavaScript. `needs_browser`: scripts seem to draw more than was read. `hash`
    and `simhash` are hexadecimal, see engines.documents.simhash;
    `links` are `[url, anchor text, is in the main region]`.
    """
    content_type, body = sniff.unpacked(options.content_type, body)
    options = replace(options, content_type=content_type)
    kind = sniff.kind_of(content_type, body)
    if kind == "html":
        markup, is_guessed = decoded(body, options.content_type)
        text_only(markup)
        read = _html_page(as_html(markup) if is_xml(options.content_type) else markup, options)
        return read | {"encoding_guessed": True} if is_guessed else read
    if kind == "picture":
        text = dict(options.page_texts).get(1)
        page: Json = {"title": title_from_url(options.url), "kind": kind}
        return _complete_page(text or "", options, page if text is not None else page | {"scanned": [1]})
    if kind in KINDS:
        return _document_page(kind, body, options)
    if kind == "feed" or (kind == "json" and is_json_feed(options.content_type, body)):
        feed = _read_feed(kind, body, options)
        if feed is not None and feed.items:
            return _feed_page(feed, options)
        kind = "xml" if kind == "feed" else kind
    if kind == "markdown":
        text = text_only(decode(body, options.content_type)).replace("\r\n", "\n").strip()
        page, text = read_markdown(text, options)
        return _complete_page(text, options, page)
    title, text = sniff.read(kind, body, options.content_type, options.format == "text")
    return _complete_page(text, options, {"title": title or title_from_url(options.url), "kind": kind})


def _read_feed(kind: str, body: bytes, options: ExtractOptions) -> Feed | None:
    text = text_only(decode(body, options.content_type))
    return read_xml_feed(holdable(text), options.url) if kind == "feed" else read_json_feed(text, options.url)


def _feed_page(feed: Feed, options: ExtractOptions) -> Json:
    title, text = feed_page(feed, options.format == "text")
    page: Json = {"title": title or title_from_url(options.url), "kind": "feed"}
    if options.links:
        page["links"] = feed_links(feed)
    return _complete_page(text, options, page)


def _document_page(kind: str, body: bytes, options: ExtractOptions) -> Json:
    """A PDF or Office document; `scanned` are the numbers of pages without text. A fragment may name pages."""
    pages = page_range(options.fragment)
    document = read_document(kind, body, plain=options.format == "text", wish=PdfWish(pages, dict(options.page_texts)))
    page: Json = {"title": document.title or title_from_url(options.url), "kind": kind}
    page["left_out"] = document.left_out
    if document.missing:
        page["missing_parts"] = list(document.missing)
    if document.scanned:
        page["scanned"] = list(document.scanned)
    if document.unread:
        page["unread_pages"] = list(document.unread)
    return _complete_page(document.text, replace(options, fragment="") if pages else options, page)


def _html_page(markup: str, options: ExtractOptions) -> Json:
    root = parse(markup)
    if root is None:
        return _complete_page("", options, {"title": title_from_url(options.url), "kind": "html"})
    held = first_elements(root)
    head = read_head(root, options.url)
    scripted, signs = root.find(".//script") is not None, read_signs(root)
    state = EmbeddedState(root)
    login = root.find(".//input[@type='password']") is not None
    page = _head_fields(head)
    links = links_of(root, None, head, routes=options.routes) if options.links else []
    if options.fragment or len(markup) > options.most_chars > 0:
        mark_anchors(root)
    content = main_content(root, head)
    page["page_type"] = content.page_type
    page["styles_ignored"] = content.styles_ignored
    if options.images:
        page["images"] = images_of(content.region, head)
    if options.links:
        page["links"] = _main_first(links, content.region, head, routes=options.routes)
    text = text_of_content(content, head, options.format == "text")
    if len(text) < _THIN_CHARS and len(described := state.described()) > 2 * _THIN_CHARS:
        text = f"{text}\n\n{described}".strip()  # scripts draw the page, but its structured data has the text
    if (words := count_words(text, FEW_WORDS)) < FEW_WORDS:
        drawn = state.text()
        if count_words(drawn, FEW_WORDS) >= (FEW_WORDS if words >= _NO_WORDS else _NO_WORDS):
            text = drawn  # the page holds the text that scripts would draw as data
            content = replace(content, for_no_scripts=False)
    for _, read in options.page_texts:
        text = f"{text}\n\n{read}".strip()  # what OCR has read of a picture of the page
    page["scripted"] = scripted and len(text) < _SCRIPTED_CHARS
    page["needs_browser"] = signs.needs_browser("" if content.for_no_scripts else text)
    page["login"] = login and not text
    del held  # their objects are wanted no more
    return _complete_page(text, options, page, lambda: anchors_of(content.region))


def text_of_content(content: Content, head: Head, plain: bool) -> str:
    """The region as Markdown or plain text. On pages of goods and teasers the pictures, whose descriptions repeat their
    names, are left out; `images` lists them."""
    return Writer(WriterOptions(head.base, plain, pictures=content.page_type not in SHOWCASES)).write(content.region)


def _head_fields(head: Head) -> Json:
    return {
        "kind": "html",
        "title": head.title,
        "canonical": head.canonical,
        "refresh": head.refresh,
        "published": head.published,
        "noindex": head.noindex,
        "lang": head.lang,
        "favicon": head.favicon,
        "description": head.description[:_DESCRIPTION_CHARS],
        "markdown": head.markdown,
    }


def _main_first(links: list[list[Any]], region: Any, head: Head, *, routes: bool) -> list[list[Any]]:
    """The links of the content region, then the others, both in document order."""
    main = {link[0] for link in links_of(region, region, head, routes=routes)}
    flagged = [[url, anchor, url in main] for url, anchor, _ in links]
    return sorted(flagged, key=lambda link: not link[2])


def _complete_page(
    text: str, options: ExtractOptions, page: Json, anchors: Callable[[], list[Anchor]] = lambda: []
) -> Json:
    text, removed = strip_invisible(_valid(text[:MAX_TEXT_CHARS]))
    page["title"], in_title = strip_invisible(_valid(page["title"]))
    page["invisible"] = removed + in_title
    if "description" in page:
        page["description"] = visible(page["description"])
    page["content"] = text
    page["hash"], near = simhash.both(text)
    page["simhash"] = f"{near:016x}"
    wish = PartWish(options.query or "", options.fragment, options.most_chars, options.most_sections)
    return page | part_of(text, wish, anchors)


def _valid(text: str) -> str:
    """The text with lone surrogates replaced: JSON and PDF can contain them, UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()
