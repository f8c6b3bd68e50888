"""Writes inline Markdown: emphasis, code spans, links, images, and the escapes that keep text from being read as marks.

A block inside inline content (a heading, a link of a card) is set apart by blanks. Source: CommonMark 0.31, GFM 0.29.
"""

import re
from dataclasses import dataclass
from typing import Any

from gateway.engines.fetch.urls import join

_BREAK = "\ue000"
"""Marks a line break until blanks are collapsed; a private-use character, which pages hardly contain."""
MAX_DEPTH = 150
"""Nesting from which elements are written as their text alone. Chosen: each level takes two or three frames of Python's
1,000. At half, deeply wrapped pages lose
marks; at double, the recursion limit is near."""
_BLANKS = re.compile(r"[ \t\n\r\f\v\u00a0\u2028\u2029]+")
_AROUND_BREAK = re.compile(rf" ?{_BREAK}[ {_BREAK}]*")
_SPECIAL = re.compile(
    r"(?<!\w)_(?=\w)|(?<=\w)_(?!\w)|\*(?=\S)|(?<=\S)\*|`|<(?=[A-Za-z/!?])|\\(?=[!-/:-@\[-`{-~])|\](?=\()"
)
_STRONG = frozenset({"b", "strong"})
_EMPHASIS = frozenset({"i", "em", "cite", "var", "dfn"})
_CODE = frozenset({"code", "kbd", "samp", "tt"})
CONTROLS = frozenset({"button", "select", "input"})
"""Elements whose words are no text of the page but say what happens when they are used."""
_SKIPPED = CONTROLS | {"script", "style", "noscript", "template", "svg", "iframe"}
_DRAWN = frozenset("+-*|.\u2022\u00b7\u00bb\u203a")
"""Names of pictures that are bullets, rules or handles to fold something."""
_EXPONENT = re.compile(r"[-+\u2212]?\d{1,4}|[-+\u2212]?[kmnN]")
_BASE = re.compile(r"(?:\d|\)|(?<!\w)[A-Za-z])[*`]{0,3}$")
_BASE_CHARS = 8
"""How many characters before an exponent `_BASE` reads: the base, Markdown's marks around it, and the character before
them, which tells a variable from the end of a word."""
_LAZY_SOURCES = ("data-src", "data-original", "data-lazy-src", "src")


@dataclass(frozen=True, slots=True)
class InlineStyle:
    """`base_url` makes links absolute; `plain`: no marks at all; without `pictures`, images are left out, and one
    that is all of a link is its description."""

    base_url: str
    plain: bool
    pictures: bool = True


def collapse(text: str, plain: bool) -> str:
    """The text with runs of blanks as one space and marked breaks as line ends (hard breaks in Markdown); several of
    them end a paragraph."""
    text = _BLANKS.sub(" ", text)
    if _BREAK in text:
        text = _AROUND_BREAK.sub(_one_or_two, text).strip(_BREAK + " ")
        text = text.replace(2 * _BREAK, "\n\n").replace(_BREAK, "\n" if plain else "  \n")
    return text.strip()


def _one_or_two(breaks: re.Match[str]) -> str:
    return min(2, breaks[0].count(_BREAK)) * _BREAK


class Inline:
    """Renders inline elements; its methods append pieces of text to the list they get."""

    def __init__(self, style: InlineStyle) -> None:
        self._plain = style.plain
        self._pictures = style.pictures
        self._base_url = style.base_url

    def escape(self, text: str) -> str:
        """The text with Markdown's special characters escaped where they would have a meaning."""
        return text if self._plain else _SPECIAL.sub(r"\\\g<0>", text)

    def inside(self, element: Any, pieces: list[str], depth: int) -> None:
        """Appends everything inside `element`."""
        if element.text:
            pieces.append(self.escape(element.text))
        for child in element:
            self.render(child, pieces, depth + 1)
            if child.tail:
                pieces.append(self.escape(child.tail))

    def render(self, element: Any, pieces: list[str], depth: int) -> None:
        """Appends one inline element, without the text that follows it."""
        tag = element.tag
        if not isinstance(tag, str) or tag in _SKIPPED:
            return
        if tag == "br":
            pieces.append(_BREAK)
        elif tag == "img":
            pieces.append(self._image(element))
        elif tag == "math":
            pieces.append(self._formula(element))
        elif depth > MAX_DEPTH:
            pieces.append(self.escape(" ".join(element.itertext())))
        elif tag in BLOCKS:  # a browser begins a new line here: without a blank, words of two lines would be one
            pieces.append(" ")
            self.inside(element, pieces, depth)
            pieces.append(" ")
        elif self._plain and tag != "sup":
            self.inside(element, pieces, depth)
        elif tag in _CODE:
            self._code_span(element, pieces)
        elif tag == "a" or tag in _STRONG or tag in _EMPHASIS or tag == "del":
            self._marked(element, tag, pieces, depth)
        elif tag == "wbr":
            pass
        elif tag == "sup" and _is_power(element, pieces):
            pieces += ("^", element.text)
        elif tag == "span" and not len(element) and not element.text and "sep" in (element.get("class") or ""):
            pieces.append(" ")  # the style draws a mark between two names
        else:
            self.inside(element, pieces, depth)

    def _marked(self, element: Any, tag: str, pieces: list[str], depth: int) -> None:
        inner: list[str] = []
        self.inside(element, inner, depth)
        text = "".join(inner)
        core = _AROUND_BREAK.sub(_BREAK, text.strip()) if _BREAK in text else text.strip()
        if not core:
            pieces.append(text)
            return
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        if tag == "a":
            core = self._link(core, element.get("href"))
        else:
            mark = "**" if tag in _STRONG else "*" if tag in _EMPHASIS else "~~"
            if _BREAK not in core and not (core.startswith("*") or core.endswith("*")):
                core = f"{mark}{core}{mark}"
        pieces += (before, core, after)

    def _link(self, text: str, href: str | None) -> str:
        target = self._target(href)
        if target is None or "](" in text.replace("![", ""):
            return text
        if target.count("%0A") > 1:  # it carries a text: the program above it, a mail to be sent
            return text if " " in text else ""
        return f"[{text}]({target})"

    def _target(self, href: str | None) -> str | None:
        if not href or href.startswith("#"):
            return None
        target = join(self._base_url, href)
        if target is None:
            return href if href.startswith(("mailto:", "tel:")) and " " not in href else None
        return target.replace("(", "%28").replace(")", "%29").replace("<", "%3C").replace(">", "%3E")

    def linked_line(self, block: str, href: str | None) -> str | None:
        """`block` with its text as a link, if it is a single line (a heading or paragraph) without links; else None."""
        target = self._target(href)
        if target is None or "\n" in block or "](" in block or block.startswith(("|", "-", ">", "`")):
            return None
        marks, text = re.match(r"(#{1,6} )?(.*)", block, re.DOTALL).groups("")  # type: ignore[union-attr]
        return f"{marks}[{text}]({target})"

    def _formula(self, element: Any) -> str:
        """TeX between dollar signs; its characters are no marks."""
        tex = " ".join("".join(element.itertext()).split())
        mark = "$$" if element.get("display") == "block" else "$"
        return tex if self._plain or not tex else f"{mark}{tex}{mark}"

    def _code_span(self, element: Any, pieces: list[str]) -> None:
        raw = "".join(element.itertext())
        text = _BLANKS.sub(" ", raw).strip()
        if not text:
            pieces.append(" " if raw else "")
            return
        longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
        ticks = "`" * (longest + 1)
        pad = " " if text.startswith("`") or text.endswith("`") else ""
        lead = " " if raw[:1].isspace() else ""
        trail = " " if raw[-1:].isspace() else ""
        pieces.append(f"{lead}{ticks}{pad}{text}{pad}{ticks}{trail}")

    def _image(self, element: Any) -> str:
        alt = _BLANKS.sub(" ", element.get("alt") or "").strip()
        if not self._pictures and not self._plain and _is_whole_link(element):
            return self.escape(alt)  # the link's only name
        if self._plain or not self._pictures:
            return ""
        source = next((element.get(name) for name in _LAZY_SOURCES if element.get(name)), None)
        target = self._target(source)
        if not alt or alt in _DRAWN or target is None:
            return ""
        return f"![{alt.replace('[', '(').replace(']', ')')}]({target})"


def _is_power(element: Any, pieces: list[str]) -> bool:
    """Whether a raised number is an exponent: without a mark "2 to the 32nd" would be 232. Numbers of notes are links,
    or stand behind words."""
    if len(element) or not _EXPONENT.fullmatch(element.text or ""):
        return False
    return _BASE.search("".join(pieces[-4:])[-_BASE_CHARS:]) is not None


def _is_whole_link(image: Any) -> bool:
    link = image.getparent()
    return link.tag == "a" and len(link) == 1 and not f"{link.text or ''}{image.tail or ''}".strip()


BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dir", "div", "dl", "dt",
        "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup",
        "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody",
        "td", "tfoot", "th", "thead", "tr", "ul", "caption", "listing", "xmp", "frameset", "noframes", "option",
    }
)  # fmt: skip
