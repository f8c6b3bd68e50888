"""Where a place of a text stands: in running text, or in an address that a browser resolves.

    "![x](http:/evil/p?q=…"         the destination of a picture, at another host
    '<a href="/users/…'             an attribute, at the page's own host
    "it is in //server/share/…"     running text: the path of a share, no address

A Markdown destination and an HTML attribute are read as the URL Standard reads them: entities decoded, tabs and line
ends dropped, `\\` as `/`, any number of slashes behind a scheme of the web, none before a host of its own. Running text
holds an address where a scheme of the web is, as renderers make links of these alone.

Naive form: parse the text up to the place as HTML and as Markdown. Here a text is read once, from its beginning, in
pieces cut anywhere. A `<` before a letter may begin a tag or be a sign of less, so all ways to read on are followed at
once: a value counts as open if one of them says so.
"""

import re
from collections.abc import Iterator
from html import unescape

REACH_CHARS = 2_048
"""The longest address that is judged; a longer one counts as one that leads to another host."""
_MAX_OPEN = 32
"""Destinations that may have begun in one word; with more of them the word counts as one at another host."""
_MARKS_BEFORE = 3
"""Characters before one that are needed to read it: `url(`."""
_BEGINS = re.compile(r"(?<=<)[A-Za-z]|(?<=\])[(:]|(?<=[uU][rR][lL])\(")
_GOES_ON = re.compile(_BEGINS.pattern + r"|[\"'>=()\s]")
_BASE = re.compile(r"(?i)<base[\s/]([^>]{0,500})>")
_HREF = re.compile(r"(?i)href\s{0,9}=\s{0,9}[\"']?([^\"'\s>]{0,400})")
_STYLE = re.compile(r"(?i)<(/?)style(?=[\s/>])")
_TAG_CHARS = 520
_OWN_SCHEME = re.compile(r"(?i)\s{0,9}(?:[a-z][a-z0-9+.-]{0,20}:|#)")
_FIRST = re.compile(r"\s+|\S")
_WEB = r"(?:https?|wss?|ftp|javascript|vbscript|data)\s{0,3}:"
_ELSEWHERE = re.compile(
    r"(?i)(?:\A|[\s,;('\"=])[\\\"'\s]{0,4}"
    rf"(?:{_WEB}|(?:[a-z][a-z0-9+.-]{{1,20}}:){{1,3}}(?<!file:)[/\\]{{2}}|file:(?:[/\\]{{2}}(?![/\\])|[/\\]{{4}})|[/\\]{{2}})"
)
"""An address with a host, or one that runs or holds a page; in an attribute also behind a blank or comma (`srcset`)."""
_WITH_SCHEME = re.compile(r"(?i)(?:https?|wss?|ftp):")
_ENDS_QUOTED = {'"': '"', "'": "'", "<": ">", "`": "`"}
_CONTROLS = re.compile(r"[\x00-\x1f]")
_ESCAPED_MARK = re.compile(r"\\([!-/:-@\[-`{-~])")
_REST = {
    '"': re.compile(r"[^\s\"]{0,2048}"),
    "'": re.compile(r"[^\s']{0,2048}"),
    "=": re.compile(r"[^\s>]{0,2048}"),
    "<": re.compile(r"[^\s>]{0,2048}"),
    "(": re.compile(r"[^\s()]{0,2048}"),
    "": re.compile(r"[^\s\"'<>`]{0,2048}"),
}
"""What belongs to an open address behind a place in it, by what ends it; never more than the word, which is all that a
stream has seen."""


def spellings(address: str) -> Iterator[str]:
    """What a browser may make of an address in a text: by HTML and by Markdown, which drops backslashes before marks,
    with tabs and line ends dropped or as blanks."""
    plain = unescape(address) if "&" in address else address
    for text in (plain, _ESCAPED_MARK.sub(r"\1", plain)) if "\\" in plain else (plain,):
        yield text
        if (bare := _CONTROLS.sub("", text)) != text:
            yield bare


def leads_elsewhere(address: str) -> bool:
    """Whether a browser may resolve a destination or attribute to another host than its page's.

    "https:&#47;&#47;x/", "/\\x/", "a.png 1x, //x/b.png"  ->  True;    "/x", "mailto:jane@x.org", "C:\\x"  ->  False
    """
    return any(_ELSEWHERE.search(each) is not None for each in spellings(address))


def has_scheme(address: str) -> bool:
    """Whether an address begins with a scheme, such as `mailto:`, or leads to a place on its own page: no base element
    changes it."""
    return _OWN_SCHEME.match(address) is not None


class AddressReader:
    """Reads a text forward and knows in which addresses its end stands. `has_base`: an element `base` was read,
    which leads the relative addresses behind it to another host. `in_style`: a style sheet is being read, whose strings
    may be addresses."""

    __slots__ = (
        "_angle", "_awaits_destination", "_awaits_value", "_in_tag", "_length", "_open", "_past", "_values", "has_base",
        "in_style",
    )  # fmt: skip

    def __init__(self) -> None:
        self.has_base = self.in_style = False
        self._past, self._length = "", 0
        self._in_tag = self._awaits_value = self._awaits_destination = False
        self._values: dict[str, int] = {}  # where an attribute's value begins, by its quotation mark, or `=` for none
        self._angle = -1  # where a destination in angle brackets does
        self._open: list[list[int]] = []  # destinations without them: [where one begins, brackets open in it]

    def read(self, piece: str) -> None:
        """Go on with the text's next piece."""
        if "<" in piece or ">" in piece:
            self._read_tags(self._past[-_TAG_CHARS:] + piece)
        before = self._past[-_MARKS_BEFORE:]
        text, at, shift = before + piece, len(before), self._length - len(before)
        while True:
            if self._awaits_value or self._awaits_destination:
                match = _FIRST.match(text, at)
            else:
                is_open = self._in_tag or self._values or self._open or self._angle >= 0
                match = (_GOES_ON if is_open else _BEGINS).search(text, at)
            if match is None:
                break
            self._step(
                match.group(), match.start() + shift, text[max(match.start() - _MARKS_BEFORE, 0) : match.start()]
            )
            at = match.end()
        self._past = (self._past + piece)[-REACH_CHARS:]
        self._length += len(piece)

    def _read_tags(self, text: str) -> None:
        for base in _BASE.finditer(text) if not self.has_base else ():
            href = _HREF.search(base[1])
            self.has_base |= href is not None and leads_elsewhere(href[1])
        for tag in _STYLE.finditer(text):
            self.in_style = not tag[1]

    def _step(self, mark: str, at: int, before: str) -> None:
        if mark[0].isspace():
            self._in_tag |= self._values.pop("=", None) is not None
            self._open.clear()
            if "\n" in mark:
                self._angle = -1
            return
        begins_value, self._awaits_value = self._awaits_value, False
        if self._awaits_destination and not (mark == ">" and before.strip(" >")[-1:] == "\n"):  # a line of a quotation
            self._awaits_destination = False
            if mark == "<":
                self._angle = at + 1
            elif len(self._open) <= _MAX_OPEN:
                self._open.append([at, 0])
        if mark in "\"'":
            self._in_tag |= self._values.pop(mark, None) is not None
            if begins_value:
                self._values[mark] = at + 1
        elif mark == ">":
            self._in_tag = False
            self._values.pop("=", None)
            self._angle = self._angle if before.endswith("\\") else -1
        elif begins_value:
            self._values.setdefault("=", at)
        if mark == "=":
            self._awaits_value = self._in_tag
        elif before.endswith("<") and mark.isalpha():
            self._in_tag = True
        elif mark in "()":
            self._bracket(mark, before)
        if mark in "(:" and (before.endswith("]") or (mark == "(" and before.lower() == "url")):
            self._awaits_destination = True

    def _bracket(self, mark: str, before: str) -> None:
        for each in self._open if not before.endswith("\\") else ():
            each[1] += 1 if mark == "(" else -1
        self._open = [each for each in self._open if each[1] >= 0]

    def destinations(self, behind: str) -> Iterator[tuple[str, str]]:
        """The destinations and attributes that the text's end is a part of: (what of one was read, its rest in
        `behind`, which is how the text goes on). Two empty strings for one too long to be judged."""
        starts = [*self._values.items(), *(("(", start) for start, _ in self._open)]
        starts += [("<", self._angle)] if self._angle >= 0 else []
        if len(self._open) > _MAX_OPEN:
            yield "", ""
        if self.in_style:
            opening = max(self._past.rfind('"'), self._past.rfind("'"))
            yield self._past[opening + 1 :], _rest(behind, self._past[opening] if opening >= 0 else "")
        first = self._length - len(self._past)
        for ending, start in starts:
            yield (self._past[start - first :], _rest(behind, ending)) if start >= first else ("", "")

    def address_in_words(self, behind: str) -> Iterator[tuple[str, str]]:
        """The same for running text: the address with a scheme in the word that the text's end is a part of."""
        begin = max(map(self._past.rfind, " \t\n\r\f<>")) + 1
        if not begin and len(self._past) == REACH_CHARS:
            yield "", ""
        elif ":" in (word := self._past[begin:]) or "&" in word:
            opening = self._past[begin - 1 : begin] if begin else ""
            for text in spellings(word):
                if (start := _open_address(opening + text)) >= 0:
                    yield (opening + text)[start:], _rest(behind, "")


def _open_address(word: str) -> int:
    """Where the first address begins that a word ends in; -1 for none. One behind a quotation mark ends at the next."""
    for match in _WITH_SCHEME.finditer(word):
        closing = _ENDS_QUOTED.get(word[match.start() - 1 : match.start()])
        if closing is None or closing not in word[match.end() :]:
            return match.start()
    return -1


def _rest(behind: str, ending: str) -> str:
    match = _REST[ending].match(behind)
    return match.group() if match else ""
