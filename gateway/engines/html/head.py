"""Reads a page's metadata: title, canonical address, links, images, icon, dates, what it says that it is.

Fetches nothing; all addresses are absolute. Sources: the HTML standard, Open Graph, schema.org JSON-LD and microdata.
Runs in the parsing processes.
"""

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from gateway.engines.fetch.urls import canonical, join
from gateway.engines.html.tree import text_of, values_of

_MAX_LINKS = 3_000  # links of one page
_MAX_IMAGES = 50  # images of one page
_MAX_REFRESH_S = 10  # a page that refreshes itself later is read before it does
_MAX_TITLE_CHARS, _MAX_ALT_CHARS, _MAX_ANCHOR_CHARS, _MAX_LANGUAGE_CHARS = 300, 300, 200, 20
"""Bounds of single texts, chosen above honest use: longer ones are stuffed with keywords."""
_MAX_ANCHORS_CHARS = 1_000  # from so many on, no further text of links to one page is added
_MAX_DESCRIBED_CHARS = 200_000
"""JSON-LD text of one page that blocks are compared with: a long article. It bounds the set of word pairs."""
_ICON_PX, _UNKNOWN_ICON_RANK, _TINY_PX = 64, 32, 32
"""Icons are shown small: the largest of at most 64 pixels is best, one without a size counts as 32. An image with a
side below 32 pixels is an icon or a tracker."""
_REFRESH = re.compile(r"^\s*(\d{1,4})(?:\.\d*)?\s*[;,]\s*(?:url\s*=\s*)?[\"']?([^\"'\s][^\"']*)", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_DATE_META = (
    "article:published_time", "og:published_time", "datepublished", "date", "dc.date", "dc.date.issued", "dcterms.date",
    "dcterms.created", "citation_publication_date", "citation_online_date", "parsely-pub-date", "sailthru.date",
    "publishdate", "pubdate", "article:modified_time",
)  # fmt: skip
_JSON_LD_DATE = re.compile(r'"datePublished"\s*:\s*"(\d{4}-\d{2}-\d{2})')
_JSON_LD_TYPE = re.compile(r'"@type"\s*:\s*(?:\[\s*)?"([A-Za-z]{1,40})"')
_JSON_LD_TEXT = re.compile(
    r'"(?:description|articleBody|text|reviewBody|headline|name)"\s*:\s*"(?=(?:[^"\\]|\\.){20})((?:[^"\\]++|\\.|(?!))*+)"'
)
_ESCAPES = re.compile(r"\\[nrt\"/]|<[^>]{1,200}>|&\w{2,6};")
_BINARY = re.compile(
    r"\.(?:7z|aac|apk|avi|avif|bin|bmp|bz2|css|deb|dll|dmg|docx?|epub|exe|flac|gif|gz|ico|iso|jar|jpe?g|js|m4[av]|"
    r"mkv|mov|mp[34]|mpe?g|msi|og[agv]|otf|png|pptx?|rar|rpm|svg|tar|tgz|tiff?|ttf|wasm|wav|web[mp]|whl|wmv|woff2?|"
    r"xlsx?|xz|zip)$",
    re.IGNORECASE,
)


PICTURES = ("img", "amp-img", "amp-anim")


@dataclass(slots=True)
class Head:
    """A page's metadata. `base`: the address against which relative links are resolved; `refresh`: target of a
    redirect by `meta`; `published`: YYYY-MM-DD; `markdown`: where its own site has the page as Markdown; `meta`:
    content of `meta` elements by lower-case name; `kinds`: the schema.org types it names; `item_types`: the values of
    `itemtype`; `described`: the text of its JSON-LD. `semantic` is set later, by `measure_page`, when a marked main
    region was found."""

    base: str
    title: str = ""
    description: str = ""
    canonical: str | None = None
    refresh: str | None = None
    published: str | None = None
    noindex: bool = False
    lang: str = ""
    favicon: str | None = None
    image: str | None = None
    markdown: str | None = None
    meta: dict[str, str] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()
    item_types: list[str] = field(default_factory=list)
    semantic: bool = False
    described: str = ""


def read_head(root: Any, url: str) -> Head:
    """The metadata of a document at `url`. Call it before anything is removed from the document."""
    head = Head(_base(root, url))
    head.lang = (root.get("lang") or "")[:_MAX_LANGUAGE_CHARS]
    for element in root.iter("meta"):
        name = (element.get("property") or element.get("name") or element.get("itemprop") or "").strip().lower()
        content = (element.get("content") or "").strip()
        if name and content:
            head.meta.setdefault(name, content)
        if (element.get("http-equiv") or "").strip().lower() == "refresh" and element.getparent().tag != "noscript":
            head.refresh = head.refresh or refresh_target(content, head.base)
    head.title = _title(root, head, url)
    head.description = head.meta.get("description") or head.meta.get("og:description", "")
    head.noindex = any("noindex" in head.meta.get(name, "").lower() for name in ("robots", "googlebot"))
    head.image = join(head.base, head.meta.get("og:image", "")) if head.meta.get("og:image") else None
    head.published = _published(root, head)
    head.item_types = values_of("itemtype", root)
    head.kinds = _kinds(root, head.item_types)
    head.described = _described(root)
    _read_links(root, head, url)
    return head


def _base(root: Any, url: str) -> str:
    for element in root.iter("base"):
        if element.get("href"):
            return join(url, element.get("href")) or url
    return url


def refresh_target(content: str, base: str) -> str | None:
    """The absolute address of a `Refresh` value (header or `meta`) of at most _MAX_REFRESH_S; else None."""
    match = _REFRESH.match(content)
    if match is None or int(match[1]) > _MAX_REFRESH_S:
        return None
    return join(base, match[2].strip())


def _title(root: Any, head: Head, url: str) -> str:
    for text in (_first_text(root, "title"), head.meta.get("og:title"), _first_text(root, "h1")):
        if text:
            return " ".join(text.split())[:_MAX_TITLE_CHARS]
    return title_from_url(url)


def _first_text(root: Any, tag: str) -> str:
    for element in root.iter(tag):
        if element.getparent() is None or element.getparent().tag != "svg":
            text = text_of(element)
            if text:
                return text
    return ""


def title_from_url(url: str) -> str:
    """The last segment of the path, decoded, or the host: the title of a page without one."""
    parts = urlsplit(url)
    segment = unquote(parts.path.rstrip("/").rpartition("/")[2])
    return segment or parts.netloc


def _published(root: Any, head: Head) -> str | None:
    for name in _DATE_META:
        match = _DATE.search(head.meta.get(name, ""))
        if match:
            return match[0]
    for script in root.iter("script"):
        if "ld+json" in (script.get("type") or ""):
            match = _JSON_LD_DATE.search(script.text or "")
            if match:
                return match[1]
    for element in root.iter("time"):
        match = _DATE.search(element.get("datetime") or "")
        if match:
            return match[0]
    return None


def _kinds(root: Any, item_types: list[str]) -> frozenset[str]:
    """Types in JSON-LD and microdata."""
    found: set[str] = set()
    for script in root.iter("script"):
        if "ld+json" in (script.get("type") or ""):
            found.update(_JSON_LD_TYPE.findall(script.text or ""))
    found.update(value.rstrip("/").rpartition("/")[2] for value in item_types)
    return frozenset(found)


def _described(root: Any) -> str:
    """Descriptions and bodies that JSON-LD holds, joined."""
    found: list[str] = []
    for script in root.iter("script"):
        if "ld+json" in (script.get("type") or ""):
            found += _JSON_LD_TEXT.findall(script.text or "")
    text = " ".join(found)[:_MAX_DESCRIBED_CHARS]
    return _ESCAPES.sub(" ", text)


_STYLES = {"pygments.css": "Sphinx", "linuwial.css": "Haddock"}
"""Style sheets of generators of documentation that do not always name themselves."""


def _read_links(root: Any, head: Head, url: str) -> None:
    best_icon = -1
    for element in root.iter("link"):
        rels = (element.get("rel") or "").lower().split()
        href = element.get("href")
        if not href:
            continue
        if "stylesheet" in rels and (named := _STYLES.get(href.partition("?")[0].rpartition("/")[2])):
            head.meta.setdefault("generator", named)
        if "canonical" in rels and head.canonical is None:
            target = join(head.base, href)
            head.canonical = canonical(target) if target else None
        elif "alternate" in rels and (element.get("type") or "").lower() == "text/markdown":
            target = join(head.base, href)
            if target and urlsplit(target)[:2] == urlsplit(url)[:2]:
                head.markdown = head.markdown or target
        elif "icon" in rels:
            rank = _icon_rank(element)
            if rank > best_icon:
                best_icon, head.favicon = rank, join(head.base, href)
    if head.favicon is None:
        parts = urlsplit(url)
        head.favicon = f"{parts.scheme}://{parts.netloc}/favicon.ico"


def _icon_rank(element: Any) -> int:
    """Rank of an icon by its side: up to _ICON_PX larger is better; an unknown size ranks between, a larger last."""
    size = re.match(r"(\d{1,4})x", (element.get("sizes") or "").lower())
    if size is None:
        return _UNKNOWN_ICON_RANK
    return int(size[1]) if int(size[1]) <= _ICON_PX else 1


def links_of(root: Any, region: Any, head: Head, *, routes: bool = False) -> list[list[Any]]:
    """`[canonical url, anchor text, whether it is in the region]`, each URL once: those of the region in document
    order, then the rest, at most _MAX_LINKS in all. The texts of several links to one page are joined: a table of
    contents names its sections. `routes`: `#!/…` names a page of its own."""
    inside: dict[str, list[Any]] = {}
    outside: dict[str, list[Any]] = {}
    in_region = set(region.iter("a", "area")) if region is not None else set()
    for element in root.iter("a", "area", "frame", "iframe"):
        href = element.get("src") if element.tag in ("frame", "iframe") else element.get("href")
        if not href or (href.startswith("#") and not (routes and href.startswith("#!/"))):
            continue
        url = link_target(head.base, href if routes else href.partition("#")[0])
        if url is None:
            continue
        here = element in in_region
        place = inside if here else outside
        if url not in place:
            place[url] = [url, text_of(element)[:_MAX_ANCHOR_CHARS], here]
        elif len(known := place[url][1]) < _MAX_ANCHORS_CHARS:
            text = text_of(element)[:_MAX_ANCHOR_CHARS]
            if text not in known:
                place[url][1] = f"{known}; {text}" if known else text
        if len(inside) + len(outside) >= _MAX_LINKS:
            break
    return [*inside.values(), *(link for url, link in outside.items() if url not in inside)]


def link_target(base: str, href: str) -> str | None:
    """The canonical address of a link; None if it leads to no page (downloads by their file ending, mailto, …)."""
    target = join(base, href.strip())
    if target is None:
        return None
    url = canonical(target)
    return None if url is None or _BINARY.search(urlsplit(url).path) else url


def images_of(region: Any, head: Head) -> list[dict[str, str]]:
    """`{url, description}` for each image of the content, og:image first, at most _MAX_IMAGES; no icons, trackers or
    data URLs."""
    found: dict[str, str] = {}
    if head.image:
        found[head.image] = head.meta.get("og:image:alt", "")
    for element in region.iter(*PICTURES):
        if _tiny(element.get("width")) or _tiny(element.get("height")):
            continue
        target = join(head.base, picture_source(element) or "about:blank")
        if target is not None and not target.lower().endswith((".svg", ".ico")):
            found[target] = found.get(target) or " ".join((element.get("alt") or element.get("title") or "").split())
        if len(found) >= _MAX_IMAGES:
            break
    return [{"url": url, "description": alt[:_MAX_ALT_CHARS]} for url, alt in found.items()]


def _tiny(value: str | None) -> bool:
    return value is not None and value.isdecimal() and len(value) < 5 and int(value) < _TINY_PX


def picture_source(image: Any) -> str:
    """The address of a picture: what lazy pages note beside a placeholder, `src`, `srcset`, or a `source` around it."""
    lazy = [value for name, value in image.items() if name.startswith("data-") and name.endswith(("src", "original"))]
    around = image.getparent()
    sources = list(around.iterchildren("source")) if around is not None and around.tag == "picture" else []
    sets = [each.get(name) for each in (image, *sources) for name in ("srcset", "data-srcset", "data-lazy-srcset")]
    largest = [listed.split(",")[-1].split() for listed in sets if listed]
    for address in (*lazy, image.get("src"), *(words[0] for words in largest if words)):
        if address and not address.lower().startswith(("data:", "about:")):
            return str(address)
    return ""


_PRODUCTS = frozenset({"Product", "ProductGroup"})
_LISTS = frozenset({"ItemList", "CollectionPage", "OfferCatalog", "SearchResultsPage"})


def declares_product(head: Head) -> bool:
    """True for a page that says in its head or structured data that it is about one product, not a list of them."""
    is_named = head.meta.get("og:type", "").lower() in ("product", "og:product", "product.item")
    return (is_named or bool(head.kinds & _PRODUCTS)) and head.kinds.isdisjoint(_LISTS)
