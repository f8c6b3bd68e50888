"""Writes inline Markdown: emphasis, code spans, links, images, and the escapes that keep text from being read as marks.

A block inside inline content (a heading, a link of a card) is set apart by blanks. Source: CommonMark 0.31, GFM 0.29.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from gateway.engines.fetch.urls import join
from gateway.engines.html.head import PICTURES, picture_source
from gateway.engines.html.tree import BLOCKS

_BREAK = "\ufdd0"  # a line break, until blanks are collapsed; a code point that is no character of any text
_OPEN = {"**": "\ufdd1", "*": "\ufdd3", "~~": "\ufdd5"}
_CLOSE = {"**": "\ufdd2", "*": "\ufdd4", "~~": "\ufdd6"}
"""Where emphasis begins and ends, until the text around it is known: see `_resolved`."""
_CODE_START, _CODE_END = "\ufdd7", "\ufdd8"
_CODE_SPAN = re.compile(f"{_CODE_START}([^{_CODE_START}{_CODE_END}]*){_CODE_END}")
_MARKS = "".join((*_OPEN.values(), *_CLOSE.values()))
_MARK_OF = {sign: mark for table in (_OPEN, _CLOSE) for mark, sign in table.items()}
_ANY_MARK = re.compile(f"([{_MARKS}])")
_BLANK_INSIDE = re.compile(
    f"(?<![{''.join(_OPEN.values())}])([{''.join(_OPEN.values())}]+)([ {_BREAK}]+)|"
    f"(?<![ {_BREAK}])([ {_BREAK}]+)([{''.join(_CLOSE.values())}]+)"
)
_NO_TEXT = re.compile("|".join(f"{_OPEN[mark]}{_CLOSE[mark]}|{_CLOSE[mark]}{_OPEN[mark]}" for mark in _OPEN))
"""An empty pair, and two pairs side by side, which are one."""
_EDGE_SIGNS = r"(?:(?![\[\]`<>\\$&;!*_~\ufdd0-\ufddf])[^\w\s]|(?!)){1,64}+"
_FIRST_SIGNS, _LAST_SIGNS = re.compile(_EDGE_SIGNS), re.compile(_EDGE_SIGNS + r"\Z")
MAX_DEPTH = 150  # nesting from which elements are written as their text alone
_OTHER_BLANKS = r"\t\n\r\f\v\u00a0\u2028\u2029"
_BLANKS = re.compile(f"[{_OTHER_BLANKS}][ {_OTHER_BLANKS}]*| [ {_OTHER_BLANKS}]+")
"""Blanks that are not one space already."""
_AROUND_BREAK = re.compile(rf" ?{_BREAK}[ {_BREAK}]*")
_SIGNS = (
    r"_(?:(?<![^\W_]_)|(?![^\W_]))|\*(?:(?<!\s\*)|(?!\s))|`|~(?=~|\Z)|!(?=\[)|<(?=[A-Za-z/!?]|\Z)|"
    r"\\(?=[!-/:-@\[-`{-~]|\Z)|&(?=#?\w{1,31};)"
)  # each begins with its sign, so that the search skips what is none
_SPECIAL, _SPECIAL_IN_LINK = (re.compile(rf"{_SIGNS}|{more}") for more in (r"\](?=[(\[])", r"[\[\]]"))
_STRONG = frozenset({"b", "strong"})
_EMPHASIS = frozenset({"i", "em", "cite", "var", "dfn"})
_DELETED = frozenset({"del", "s", "strike"})
_CODE = frozenset({"code", "kbd", "samp", "tt"})
CONTROLS = frozenset({"button", "select", "input"})
"""Elements whose words are no text of the page but say what happens when they are used."""
_APART = frozenset({"label", "output"})
_QUOTES = {"q": "\u201c\u201d", "rt": "()"}
"""Signs around an element: around the reading of a character, those for browsers that cannot draw it above."""
_SKIPPED = CONTROLS | {"script", "style", "noscript", "template", "svg", "iframe"}
_DRAWN = frozenset("+-*|.\u2022\u00b7\u00bb\u203a")
"""Names of pictures that are bullets, rules or handles to fold something."""
_EXPONENT = re.compile(r"[-+\u2212]?\d{1,4}|[-+\u2212]?[kmnN]")
_BASE = re.compile(r"(?:\d|\)|(?<!\w)[A-Za-z])[*`]{0,3}$")
_BASE_CHARS = 8
"""How many characters before an exponent `_BASE` reads: the base, Markdown's marks around it, and the character before
them, which tells a variable from the end of a word."""


@dataclass(frozen=True, slots=True)
class InlineStyle:
    """`base_url` makes links absolute; `plain`: no marks at all; without `pictures`, images are left out, and one
    that is all of a link is its description."""

    base_url: str
    plain: bool
    pictures: bool = True


def collapse(text: str, plain: bool) -> str:
    """The text with runs of blanks as one space, marked breaks as line ends (hard breaks in Markdown; several of them
    end a paragraph) and emphasis as marks that CommonMark reads as such."""
    if text.isascii():  # it holds no marks: in a fifth of the time
        return " ".join(text.split())
    text = _BLANKS.sub(" ", text)
    if plain:
        text = _BLANKS.sub(" ", _ANY_MARK.sub("", text))
    elif _ANY_MARK.search(text):
        for _ in range(MAX_DEPTH):
            text, moved = _BLANK_INSIDE.subn(r"\2\1\4\3", text)
            text, removed = _NO_TEXT.subn("", text)
            if not moved and not removed:
                break
        text = _BLANKS.sub(" ", text)
    if _BREAK in text:
        text = _AROUND_BREAK.sub(_one_or_two, text).strip(_BREAK + " ")
        text = text.replace(2 * _BREAK, "\n\n").replace(_BREAK, "\n" if plain else "  \n")
    text = "\n\n".join(_resolved(part.strip()) for part in text.split("\n\n"))
    return _CODE_SPAN.sub(_code_span, text.replace(f"{_CODE_END}{_CODE_START}", ""))  # two spans side by side are one


def _code_span(code: re.Match[str]) -> str:
    """Code between more backticks than it has in a row."""
    text = code[1]
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text[:1] == "`" or text[-1:] == "`" or (text[:1] == text[-1:] == " ") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _resolved(text: str) -> str:
    """One paragraph with its emphasis as marks. A pair that CommonMark would not read as one loses its marks:
    `<b>Note:</b>so` is `**Note**:so`, as `**` behind a sign and before a letter closes nothing."""
    parts = _ANY_MARK.split(text)
    if len(parts) == 1:
        return text
    opened: list[tuple[str, int]] = []
    pairs: dict[int, int] = {}
    for at in range(1, len(parts), 2):
        mark = _MARK_OF[parts[at]]
        if parts[at] == _OPEN[mark]:
            opened.append((mark, at))
        elif opened and opened[-1][0] == mark:
            start = opened.pop()[1]
            if all(mark != outer for outer, _ in opened):  # emphasis inside of the same emphasis adds nothing
                pairs[start] = at
    out = [part if at % 2 == 0 else "" for at, part in enumerate(parts)]
    for start, end in sorted(pairs.items()):
        _mark_pair(out, parts, (start, end))
    return "".join(out)


def _mark_pair(out: list[str], parts: list[str], pair: tuple[int, int]) -> None:
    """Writes the marks of one pair into `out`, which has the marks of the pairs that begin before it."""
    start, end = pair
    mark = _MARK_OF[parts[start]]
    before = next((parts[at] for at in range(start - 1, -1, -2) if parts[at]), "")  # the nearest text is enough
    after = next((parts[at] for at in range(end + 1, len(parts), 2) if parts[at]), "")
    inside = "".join(parts[start + 1 : end : 2])
    lead = trail = ""
    if _is_word(before[-1:]) and not _is_word(inside[:1]):
        lead = _edge(_FIRST_SIGNS.match(parts[start + 1]), inside)
    if _is_word(after[:1]) and not _is_word(inside[-1:]):
        trail = _edge(_LAST_SIGNS.search(parts[end - 1]), inside)
    core = inside[len(lead) : len(inside) - len(trail)]
    opens = not _is_word(before[-1:]) or _is_word(core[:1]) or (bool(lead) and core[:1] not in "*_")
    closes = not _is_word(after[:1]) or _is_word(core[-1:]) or bool(trail)
    if not parts[start + 1] and ("~" in mark) != ("~" in _MARK_OF[parts[start + 2]]):  # a sign follows the mark
        opens = not _is_word(before[-1:])
    if not parts[end - 1] and ("~" in mark) != ("~" in _MARK_OF[parts[end - 2]]):
        closes = not _is_word(after[:1])
    if not core.strip() or core[:1].isspace() or core[-1:].isspace() or not (opens and closes):
        return
    if not parts[start + 1] and parts[start:end].count(parts[start + 2]) > 1:
        return
    last = next((at for at in range(start - 1, -1, -1) if out[at]), 0)
    if last % 2 and (parts[last] in _CLOSE.values() or _is_word(after[:1])):  # its marks and these would be one run
        return
    if not parts[end - 1 if end - 1 > start + 1 else start + 1] and _is_word(after[:1]):
        return
    if not parts[end + 1] and end + 2 < len(parts) and (_is_word(before[-1:]) or parts[end + 2] in _OPEN.values()):
        return
    out[start], out[end] = lead + mark, mark + trail
    out[start + 1] = out[start + 1][len(lead) :]
    out[end - 1] = out[end - 1][: len(out[end - 1]) - len(trail)]


def _edge(signs: re.Match[str] | None, inside: str) -> str:
    """Signs at an edge of emphasised text that can stand outside of the marks."""
    return "" if signs is None or signs[0] == inside or (")" in signs[0] and "](" in inside) else signs[0]


def _is_word(character: str) -> bool:
    """Whether a character is neither a blank, a sign nor the end of the text."""
    if not character or character.isspace() or character in (_CODE_START, _CODE_END):
        return False
    return unicodedata.category(character)[0] not in "PS"


def _one_or_two(breaks: re.Match[str]) -> str:
    return min(2, breaks[0].count(_BREAK)) * _BREAK


class Inline:
    """Renders inline elements; its methods append pieces of text to the list they get."""

    def __init__(self, style: InlineStyle) -> None:
        self._plain = style.plain
        self._pictures = style.pictures
        self._base_url = style.base_url
        self._links = 0

    def escape(self, text: str) -> str:
        """The text with Markdown's special characters escaped where they would have a meaning."""
        if self._plain:
            return text
        return (_SPECIAL_IN_LINK if self._links else _SPECIAL).sub(r"\\\g<0>", text)

    def inside(self, element: Any, pieces: list[str], depth: int) -> None:
        """Appends everything inside `element`."""
        if element.text:
            self._add_text(element.text, pieces)
        for child in element:
            self.render(child, pieces, depth + 1)
            if child.tail:
                self._add_text(child.tail, pieces)

    def _add_text(self, text: str, pieces: list[str]) -> None:
        text = self.escape(text)
        if text[:1] in ("(", "[") and not self._plain and "".join(pieces[-3:]).rstrip(_MARKS).endswith(("]", "!")):
            text = f"\\{text}"  # which would be the target of a link, or a picture
        pieces.append(text)

    def render(self, element: Any, pieces: list[str], depth: int) -> None:
        """Appends one inline element, without the text that follows it."""
        tag = element.tag
        if not isinstance(tag, str) or tag in _SKIPPED:
            return
        if tag == "br":
            pieces.append(_BREAK)
        elif tag in PICTURES:
            pieces.append(self._image(element))
        elif tag == "note":
            pieces.append(self._note(element))
        elif tag == "math":
            pieces.append(self._formula(element))
        elif depth > MAX_DEPTH:
            pieces.append(self.escape(" ".join(element.itertext())))
        elif tag in BLOCKS or tag in _APART:  # a new line, or a field: without a blank, two words would be one
            pieces.append(" ")
            self.inside(element, pieces, depth)
            pieces.append(" ")
        elif quotes := _QUOTES.get(tag):
            pieces.append(quotes[0])
            self.inside(element, pieces, depth)
            pieces.append(quotes[1])
        elif self._plain and tag != "sup":
            self.inside(element, pieces, depth)
        elif tag in _CODE:
            self._code_span(element, pieces)
        elif tag == "a":
            self._anchor(element, pieces, depth)
        elif mark := "**" if tag in _STRONG else "*" if tag in _EMPHASIS else "~~" if tag in _DELETED else "":
            pieces.append(_OPEN[mark])
            self.inside(element, pieces, depth)
            pieces.append(_CLOSE[mark])
        elif tag == "wbr":
            pass
        elif tag == "sup" and _is_power(element, pieces):
            pieces += ("^", element.text)
        else:
            self.inside(element, pieces, depth)

    def _anchor(self, element: Any, pieces: list[str], depth: int) -> None:
        inner: list[str] = []
        target = self._target(element.get("href"))
        self._links += target is not None
        self.inside(element, inner, depth)
        self._links -= target is not None
        text = "".join(inner)
        core = _AROUND_BREAK.sub(_BREAK, text.strip()) if _BREAK in text else text.strip()
        if not _ANY_MARK.sub("", core).strip():
            pieces.append(text)
            return
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        core = self._link(core, target)
        last = next((at for at in range(len(pieces) - 1, -1, -1) if pieces[at].strip(_MARKS)), 0)
        if core[:1] == "[" and not before and pieces and pieces[last].endswith("!"):
            pieces[last] = f"{pieces[last][:-1]}\\!"  # a picture otherwise
        pieces += (before, core, after)

    def _link(self, text: str, target: str | None) -> str:
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

    def _note(self, element: Any) -> str:
        """The mark of a footnote, or what stands before its text."""
        mark = f"[{element.text}]" if self._plain else f"[^{element.text}]"
        return mark if element.get("define") is None else f"{mark} " if self._plain else f"{mark}: "

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
        lead, trail = (" " if edge.isspace() else "" for edge in (raw[:1], raw[-1:]))
        pieces.append(f"{lead}{_CODE_START}{text}{_CODE_END}{trail}")

    def _image(self, element: Any) -> str:
        alt = _BLANKS.sub(" ", element.get("alt") or "").strip()
        if not self._pictures and not self._plain and (_is_whole_link(element) or _is_in_sentence(element)):
            return self.escape(alt)  # the link's only name, or words of a sentence
        if self._plain or not self._pictures:
            return ""
        target = self._target(picture_source(element))
        if target is None and (element.get("src") or "").startswith("data:") and alt not in _DRAWN:
            return self.escape(alt)  # the picture's words without its bytes
        if not alt or alt in _DRAWN or target is None:
            return ""
        return f"![{alt.replace('[', '(').replace(']', ')')}]({target})"


def _is_power(element: Any, pieces: list[str]) -> bool:
    """Whether a raised number is an exponent: without a mark "2 to the 32nd" would be 232. Numbers of notes are links,
    or stand behind words."""
    if len(element) or not _EXPONENT.fullmatch(element.text or ""):
        return False
    return _BASE.search(_ANY_MARK.sub("", "".join(pieces[-4:]))[-_BASE_CHARS:]) is not None


def _is_whole_link(image: Any) -> bool:
    link = image.getparent()
    return link.tag == "a" and len(link) == 1 and not f"{link.text or ''}{image.tail or ''}".strip()


def _is_in_sentence(image: Any) -> bool:
    before = image.getprevious()
    text = image.getparent().text if before is None else before.tail
    return bool((text or "").strip() and (image.tail or "").strip())
