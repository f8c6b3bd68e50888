"""Finds the citations in the text of a model while it is streamed: links and markers that name a source it was shown.

| written                          | visible link                    | cites                       |
|----------------------------------|---------------------------------|-----------------------------|
| `[text](url)`, `([text](url))`   | all of it, with round brackets  | the source with this url    |
| `[2]`, `[1, 3]`, `[1-3]`, `[^2]` | the brackets and all in them    | the sources by number       |
| `【2】`, `［1、3］`, `【2†…】`      | the same                        | the sources by number       |
| `https://…`                      | the address                     | the source with this url    |

Nothing is a citation in code, in an image, after a backslash, and where one of the named sources was never shown. An
index outside of marked code is told apart from a citation by the characters beside it (`_is_index`). The
text itself is not changed. Naive form: `push` of the whole text, then `flush`; cut anywhere, the pieces join to the
same text with the same links, since a decision is only made once no later text can change it. Held back is only a
beginning that may still become a link to a source; `_MAX_LABEL_CHARS` and the longest address bound it.
"""

import re
from typing import NamedTuple

from gateway.engines.fetch.urls import MAX_URL_CHARS
from gateway.services.hosted_tools.sources import Sources
from gateway.wire.hosted_answer import Source, TextPiece

_START = re.compile(r"[`(\[【［]|~~~|~{1,2}\Z|https?://|h(?:t(?:tp?)?)?\Z|https?(?::/?)?\Z")
"""Where a link or code may begin. The last two: an address that is cut by the end of what has come."""
_CODE_RUN, _TILDE_RUN, _LINE_CODE_END = re.compile("`{1,64}"), re.compile("~{1,64}"), re.compile("`{1,64}|\n")
"""Nobody writes more backticks; longer runs count as several, so that a run is read again 64 times at most."""
_RANGE = r"\^?\d{1,3}(?: ?[-‐‑–—−~～] ?\d{1,3})?"
_NUMBERS = re.compile(rf"({_RANGE}(?: ?[,;、，；] ?{_RANGE}){{0,9}})(?:†[^\n]{{0,300}})?")
_MAX_RANGE = 10
"""Sources that one marker names; a longer range is no citation but a pattern or a count."""
_CLOSING = {"[": "]", "【": "】", "［": "］"}
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$"
_MAX_NAME_CHARS = 40
"""Names in code are shorter."""
_URL_STOP = re.compile(r"[ \t\r\n<>\"|^{}\[\]`\\【】，。、；：！？（）《》「」…]")
_OTHER_STOP = re.compile(r"[^\x21-\x7e]|[<>\"|^{}\[\]`\\]")
"""What ends an address: of a source, which may have letters of other scripts, and any other."""
_LINK_STOP = re.compile(r"[ \t\n()]")
_TRAILING = ".,;:!?*_~'"
"""Punctuation after an address that belongs to the sentence."""
_MIN_FENCE = 3
"""Backticks or tildes that begin a block of code, as in CommonMark."""
_MAX_DEPTH = 4
"""Brackets within brackets of an address; titles of encyclopedias have one. Each costs a comparison."""
_MAX_LABEL_CHARS = 300
"""Titles of pages fit."""


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
        self._is_plain = not sources
        self._held = ""
        self._before = ""  # the last characters that were let go
        self._code = 0  # how many backticks or tildes opened the code that the text is in
        self._code_mark = "`"
        self._in_address = False  # of no source; it may have an address of one in it, which is no link
        self._is_last = False

    def push(self, text: str) -> list[TextPiece]:
        """The pieces that are decided once `text` has come."""
        if self._is_plain:
            return [TextPiece(text)]
        self._held += text
        return self._decided()

    def flush(self) -> list[TextPiece]:
        """The rest: the text has ended. Another text may follow."""
        self._is_last = True
        pieces = self._decided()
        self._before, self._code, self._in_address, self._is_last = "", 0, False, False
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
            self._before = self._head(text, position)
            self._held = text[position:]
        return pieces

    def _next(self, text: str, position: int) -> _Found | _Wait:
        """What is decided from `position` on, at least one character of it; _WAIT where nothing can be decided."""
        if self._code:
            return self._code_end(text, position)
        if self._in_address:
            stop = _OTHER_STOP.search(text, position)
            self._in_address = stop is None
            if stop is None or stop.start() > position:
                return _Found(position, len(text) if stop is None else stop.start())
        start = _START.search(text, position)
        if start is None:
            return _Found(position, len(text))
        begin = start.start()
        if begin > position:
            return _Found(position, begin)
        first = text[begin]
        if first in "`~":
            return self._code_start(text, begin)
        if first == "(":
            return self._in_round_brackets(text, begin)
        if first in _CLOSING:
            return self._in_brackets(text, begin) or _Found(begin, begin + 1)
        return self._address(text, begin)

    def _code_start(self, text: str, begin: int) -> _Found | _Wait:
        mark = text[begin]
        run = (_CODE_RUN if mark == "`" else _TILDE_RUN).match(text, begin)
        assert run is not None
        end = run.end()
        if end == len(text) and not self._is_last:
            return _WAIT
        if mark == "~" and (end - begin < _MIN_FENCE or self._head(text, begin).rpartition("\n")[2].strip(" >")):
            return _Found(begin, end)  # a fence of tildes begins a line
        self._code, self._code_mark = end - begin, mark
        return _Found(begin, end)

    def _code_end(self, text: str, position: int) -> _Found | _Wait:
        """To the end of the code: as many backticks as began it, more for a fence; a line's end for code in a line."""
        is_fence = self._code >= _MIN_FENCE
        fence = _CODE_RUN if self._code_mark == "`" else _TILDE_RUN
        for match in (fence if is_fence else _LINE_CODE_END).finditer(text, position):
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
        end = text.find(_CLOSING[text[begin]], begin + 1, limit)
        label = text[begin + 1 : end if end >= 0 else limit]
        if "\n" in label or "[" in label or (end < 0 and (self._is_last or len(text) >= limit)):
            return None
        if end < 0 or (end + 1 == len(text) and not self._is_last):
            return _WAIT
        before = self._head(text, begin)[-1:]
        if text.startswith("(", end + 1) and text[begin] == "[":
            link = self._destination(text, begin, end + 2)
            return link._replace(cited=()) if isinstance(link, _Found) and before in ("!", "\\") else link
        cited = self._numbered(label) if before != "\\" else ()
        if not cited:
            return None
        if before and before in _NAME_CHARS and text[end + 1 :] == " " and not self._is_last:
            return _WAIT
        return None if text[begin] == "[" and self._is_index(text, begin, end + 1) else _Found(begin, end + 1, cited)

    def _numbered(self, label: str) -> tuple[Source, ...]:
        """The sources that a label names; none where it names anything else, or a source that was never shown."""
        numbers = _NUMBERS.fullmatch(label)
        found: dict[Source, None] = {}
        for each in re.split("[,;、，；]", numbers[1]) if numbers else ():
            ends = [int(number) for number in re.findall(r"\d+", each)]
            if not 0 <= ends[-1] - ends[0] < _MAX_RANGE:
                return ()
            for number in range(ends[0], ends[-1] + 1):
                source = self._sources.numbered(number)
                if source is None:
                    return ()
                found[source] = None
        return tuple(found)

    def _head(self, text: str, position: int) -> str:
        """The last characters before a position."""
        return (self._before + text[max(0, position - _MAX_NAME_CHARS) : position])[-_MAX_NAME_CHARS:]

    def _is_index(self, text: str, begin: int, end: int) -> bool:
        """Whether the brackets are an index of code that nobody has marked: after a name as only code has it (`a[1]`,
        `my_list[1]`, `$row[1]`), or assigned to (`word[1] = 2`). After a word (`Paris[1]`) they are a citation."""
        head = self._head(text, begin)
        while head.endswith("]") and head[head.rfind("[") + 1 : -1].isdecimal():
            head = head[: head.rfind("[")]
        name = head[len(head.rstrip(_NAME_CHARS)) :]
        is_variable = name[:1] == "$" and name[1:2].isalpha()
        is_code = (len(name) == 1 and name.islower()) or "_" in name.strip("_") or is_variable
        return is_code or (bool(name) and text[end : end + 2].lstrip(" ").startswith("="))

    def _destination(self, text: str, begin: int, start: int) -> _Found | _Wait | None:
        """The address of a Markdown link that begins at `begin`, and its end. A title may follow the address."""
        limit = start + MAX_URL_CHARS
        end, depth = min(len(text), limit), 0
        for stop in _LINK_STOP.finditer(text, start, end):
            if not depth and not self._may_lead(text[start : stop.start()]):
                return None
            depth += {"(": 1, ")": -1}.get(stop[0], 0)
            if depth < 0 or depth > _MAX_DEPTH or stop[0] not in "()":
                end = stop.start()
                break
        url = text[start:end].removeprefix("<").removesuffix(">")
        if end == len(text) and not self._is_last and end < limit:
            return _WAIT if self._may_lead(url) else None
        if end >= min(len(text), limit) or text[end] == "\n":
            return None
        close = end if text[end] == ")" else text.find(")", end, end + _MAX_LABEL_CHARS)
        if close < 0 or "\n" in text[end:close]:
            may_come = len(text) < end + _MAX_LABEL_CHARS and "\n" not in text[end:]
            return _WAIT if may_come and not self._is_last and self._sources.at(url) else None
        source = self._sources.at(url)
        return _Found(begin, close + 1, (source,)) if source is not None else None

    def _may_lead(self, head: str) -> bool:
        """Whether the address of a source may begin with `head`; one in angle brackets too."""
        bare = head.removeprefix("<")
        if len(bare) < len("https://"):
            return "https://".startswith(bare) or bare.startswith("http:")
        return bare.startswith("http") and self._sources.may_begin(bare.removesuffix(">"))

    def _address(self, text: str, begin: int) -> _Found | _Wait:
        """An address in running text, without the punctuation after it."""
        limit = begin + MAX_URL_CHARS
        stop = _URL_STOP.search(text, begin, limit)
        end = stop.start() if stop is not None else min(len(text), limit)
        if not text[begin:end].isascii():
            end = self._end_of_spelling(text, begin, end)
        if end == len(text) and not self._is_last and end < limit:
            head = text[begin:end]
            if "://" not in head or self._sources.may_begin(head):
                return _WAIT
        address = text[begin:end]
        while address and (
            address[-1] in _TRAILING or (address[-1] == ")" and address.count(")") > address.count("("))
        ):
            address = address[:-1]
        source = self._sources.at(address)
        if source is not None:
            return _Found(begin, begin + len(address), (source,))
        self._in_address = "://" in address
        return _Found(begin, begin + (address.find("://") + 3 if self._in_address else 1))

    def _end_of_spelling(self, text: str, begin: int, end: int) -> int:
        """Where an address ends that letters of other scripts may follow: writing without blanks goes on after it."""
        for at in range(begin, end):
            if not text[at].isascii() and not self._sources.continues(text[begin : at + 1]):
                return at
        return end
