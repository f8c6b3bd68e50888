"""Finds the citations in the text of a model while it is streamed: links and markers that name a source it was shown.

| written                          | visible link                    | cites                       |
|----------------------------------|---------------------------------|-----------------------------|
| `[text](url)`, `([text](url))`   | all of it, with round brackets  | the source with this url    |
| `[2]`, `[1, 3]`, `[^2]`          | the brackets and all in them    | the sources by number       |
| `【2】`, `【2†…】`                 | the same                        | the source by number        |
| `https://…`                      | the address                     | the source with this url    |

Nothing is a citation in code, in an image, after a backslash, and where one of the named sources was never shown. The
text itself is not changed. Naive form: `push` of the whole text, then `flush`; cut anywhere, the pieces join to the
same text with the same links, since a decision is only made once no later text can change it. Held back is only a
beginning that may still become a link to a source; `_MAX_LABEL_CHARS` and the longest address bound it.
"""

import re
from typing import NamedTuple

from gateway.engines.fetch.urls import MAX_URL_CHARS
from gateway.services.hosted_tools.sources import Sources
from gateway.wire.hosted_answer import Source, TextPiece

_START = re.compile(r"[`(\[【]|https?://|h(?:t(?:tp?)?)?\Z|https?(?::/?)?\Z")
"""Where a link or code may begin. The last two: an address that is cut by the end of what has come."""
_CODE_END, _LINE_CODE_END = re.compile("`+"), re.compile("`+|\n")
_NUMBERS = re.compile(r"\^?\d{1,3}(?: ?[,;] ?\d{1,3}){0,9}")
_ASIAN_NUMBER = re.compile(r"(\d{1,3})(?:†[^\n]{0,300})?")
_URL_STOPS = frozenset(' \t\r\n<>"|^{}[]`\\【】，。、；：！？（）《》「」…')
_TRAILING = ".,;:!?*_~'"
"""Punctuation after an address that belongs to the sentence."""
_MAX_LABEL_CHARS = 300
"""Chosen: titles of pages fit. At half long ones are no links; at double a bracket that nobody closes waits longer."""


class _Found(NamedTuple):
    """A place in the text that is decided: a link with its sources, or plain text where there are none."""

    begin: int
    end: int
    cited: tuple[Source, ...] = ()


class _Wait:
    """More text is needed to decide."""


_WAIT = _Wait()


class CitationFinder:
    """Reads one text. Sources must not be added while it is read."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._held = ""
        self._before = ""  # the last character that was let go
        self._code = 0  # how many backticks opened the code that the text is in
        self._is_last = False

    def push(self, text: str) -> list[TextPiece]:
        """The pieces that are decided once `text` has come."""
        if not self._sources:
            return [TextPiece(text)]
        self._held += text
        return self._decided()

    def flush(self) -> list[TextPiece]:
        """The rest: the text has ended. Another text may follow."""
        self._is_last = True
        pieces = self._decided()
        self._before, self._code, self._is_last = "", 0, False
        return pieces

    def _decided(self) -> list[TextPiece]:
        pieces: list[TextPiece] = []
        text, plain, position = self._held, 0, 0
        while position < len(text):
            found = self._next(text, position)
            if isinstance(found, _Wait):
                break
            position = found.end
            if found.cited:
                if found.begin > plain:
                    pieces.append(TextPiece(text[plain : found.begin]))
                pieces.append(TextPiece(text[found.begin : found.end], found.cited))
                plain = position
        if position > plain:
            pieces.append(TextPiece(text[plain:position]))
        if position:
            self._before, self._held = text[position - 1], text[position:]
        return pieces

    def _next(self, text: str, position: int) -> _Found | _Wait:
        """What is decided from `position` on, at least one character of it; _WAIT where nothing can be decided."""
        if self._code:
            return self._code_end(text, position)
        start = _START.search(text, position)
        if start is None:
            return _Found(position, len(text))
        begin = start.start()
        if begin > position:
            return _Found(position, begin)
        first = text[begin]
        if first == "`":
            return self._code_start(text, begin)
        if first == "(":
            return self._in_round_brackets(text, begin)
        if first == "[":
            return self._in_brackets(text, begin) or _Found(begin, begin + 1)
        if first == "【":
            return self._in_asian_brackets(text, begin)
        return self._address(text, begin)

    def _code_start(self, text: str, begin: int) -> _Found | _Wait:
        end = begin
        while end < len(text) and text[end] == "`":
            end += 1
        if end == len(text) and not self._is_last:
            return _WAIT
        self._code = end - begin
        return _Found(begin, end)

    def _code_end(self, text: str, position: int) -> _Found | _Wait:
        """To the end of the code: as many backticks as began it, more for a fence; a line's end for code in a line."""
        is_fence = self._code > 2
        for match in (_CODE_END if is_fence else _LINE_CODE_END).finditer(text, position):
            if match.end() == len(text) and match[0] != "\n" and not self._is_last:
                return _Found(position, match.start()) if match.start() > position else _WAIT
            size = match.end() - match.start()
            if match[0] == "\n" or size == self._code or (is_fence and size > self._code):
                self._code = 0
                return _Found(position, match.end())
        return _Found(position, len(text))

    def _in_round_brackets(self, text: str, begin: int) -> _Found | _Wait:
        """`([text](url))` as one link; else the bracket alone is decided."""
        if begin + 1 == len(text) and not self._is_last:
            return _WAIT
        alone = _Found(begin, begin + 1)
        if not text.startswith("[", begin + 1):
            return alone
        link = self._in_brackets(text, begin + 1)
        if not isinstance(link, _Found):
            return link or alone
        if not link.cited or text[link.end - 1] != ")":
            return alone
        if link.end == len(text) and not self._is_last:
            return _WAIT
        return _Found(begin, link.end + 1, link.cited) if text.startswith(")", link.end) else alone

    def _in_brackets(self, text: str, begin: int) -> _Found | _Wait | None:
        """A Markdown link, or numbers in brackets; None when the bracket begins neither."""
        limit = begin + 1 + _MAX_LABEL_CHARS
        end = text.find("]", begin + 1, limit)
        label = text[begin + 1 : end if end >= 0 else limit]
        if "\n" in label or "[" in label or (end < 0 and (self._is_last or len(text) >= limit)):
            return None
        if end < 0 or (end + 1 == len(text) and not self._is_last):
            return _WAIT
        before = text[begin - 1] if begin else self._before
        if text.startswith("(", end + 1):
            link = self._destination(text, begin, end + 2)
            return link._replace(cited=()) if isinstance(link, _Found) and before in ("!", "\\") else link
        if before == "\\" or not _NUMBERS.fullmatch(label):
            return None
        named = [self._sources.numbered(int(each)) for each in re.split(r"\D+", label.lstrip("^"))]
        cited = tuple(dict.fromkeys(source for source in named if source is not None))
        return _Found(begin, end + 1, cited) if None not in named else None

    def _destination(self, text: str, begin: int, start: int) -> _Found | _Wait | None:
        """The address of a Markdown link that begins at `begin`, and its end. A title may follow the address."""
        end, depth, limit = start, 0, start + MAX_URL_CHARS
        while end < min(len(text), limit) and text[end] not in " \t\n" and (depth or text[end] != ")"):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        url = text[start:end].removeprefix("<").removesuffix(">")
        if end == len(text) and not self._is_last and end < limit:
            return _WAIT if not url.startswith("http") or self._sources.may_begin(url) else None
        if end >= min(len(text), limit) or text[end] == "\n":
            return None
        close = end if text[end] == ")" else text.find(")", end, end + _MAX_LABEL_CHARS)
        if close < 0 or "\n" in text[end:close]:
            may_come = len(text) < end + _MAX_LABEL_CHARS and "\n" not in text[end:]
            return _WAIT if may_come and not self._is_last and self._sources.at(url) else None
        source = self._sources.at(url)
        return _Found(begin, close + 1, (source,)) if source is not None else None

    def _in_asian_brackets(self, text: str, begin: int) -> _Found | _Wait:
        limit = begin + 1 + _MAX_LABEL_CHARS
        end = text.find("】", begin + 1, limit)
        if end < 0 and len(text) < limit and not self._is_last and "\n" not in text[begin:]:
            return _WAIT
        number = _ASIAN_NUMBER.fullmatch(text, begin + 1, end) if end >= 0 else None
        source = self._sources.numbered(int(number[1])) if number else None
        return _Found(begin, end + 1, (source,)) if source is not None else _Found(begin, begin + 1)

    def _address(self, text: str, begin: int) -> _Found | _Wait:
        """An address in running text, without the punctuation after it."""
        end, limit = begin, begin + MAX_URL_CHARS
        while end < min(len(text), limit) and text[end] not in _URL_STOPS:
            if not text[end].isascii() and not self._sources.continues(text[begin : end + 1]):
                break  # writing without blanks goes on after the address
            end += 1
        if end == len(text) and not self._is_last and end < limit:
            head = text[begin:end]
            return _WAIT if "://" not in head or self._sources.may_begin(head) else _Found(begin, end)
        address = text[begin:end]
        while address and (
            address[-1] in _TRAILING or (address[-1] == ")" and address.count(")") > address.count("("))
        ):
            address = address[:-1]
        source = self._sources.at(address)
        return (
            _Found(begin, begin + len(address), (source,)) if source is not None else _Found(begin, max(end, begin + 1))
        )
