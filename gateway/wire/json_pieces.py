"""Decodes a JSON document of many small values piece by piece, and lets its bytes go meanwhile.

Naive form: `orjson.loads(raw)`. It copies the document and makes a tree of its own (16 bytes a value), both of which
live until the last Python object is made: three to nine times the bytes of a document of tiny values, beside the
objects. Here the lists and objects that are longer than a window are opened, and their members are decoded in runs that
fit one; what was decoded is cut off the document, so that in the end only the objects remain.

Theory of operation. `_Reader` stands after `[`, `{` or a comma of the innermost open container.

| the window from there holds                   | what is done                                               |
|-----------------------------------------------|------------------------------------------------------------|
| the end of the container                      | the members before it are one run; the container is closed |
| a comma between its members                   | the members before the last such comma are one run         |
| neither, and its first member is a container  | that one is opened                                         |
| neither, and its first member is no container | that one is decoded by itself, however long it is          |

Runs are handed to orjson between the brackets of their container, so it decides what JSON is.
"""

import re
from typing import Any, cast

import orjson

from gateway.resilience.freed_memory import give_back
from gateway.resilience.slices import Steps, all_steps
from gateway.wire.json_packing import Pack, Packer
from gateway.wire.json_strings import end_of_string, text_steps
from gateway.wire.json_window import Window

WINDOW_BYTES = 1 << 16
"""Chosen: a run of this size is decoded in under a millisecond and needs half a megabyte beside its objects. At half
there are twice as many runs, at double that memory doubles."""
SHARED_CHARS, MAX_WORDS = 16, 8_192
"""Strings of at most so many characters are shared, and so many of them remembered. `schemas.json_size` counts on both.
Chosen: words of formats are shorter, and bodies have hundreds of them. At half of the second a long history of short
answers has them twice, at double a body of different words needs half a megabyte more while it is decoded."""
_WINDOWS_BETWEEN = 4
"""Windows after which freed memory is given back: a body of names had a third of its memory in the tables that its
objects had outgrown. Chosen: this takes a thirtieth of the time; at half twice that, at double 1 MB has half of these
tables beside its values."""
_MAX_OPEN = 128
"""Chosen: more than the levels that a body may have (`schemas.MAX_DEPTH`); each costs a look at a window. At half legal
bodies are decoded in the naive way, at double a document of brackets takes twice as long to be refused."""
_SPACE = re.compile(rb"[ \t\r\n]*+")
_PIECE_BYTES = 1 << 17
"""Bytes that one step searches for the place of an error. Chosen: a step takes .2 ms; at half a long string takes twice
as many turns of the loop, at double its copies take twice the memory."""
_INNER_BYTES = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""
_SCALAR = re.compile(rb"[^ \t\r\n,\[\]{}\"]++")
_CLOSING: dict[type, bytes] = {dict: b"}", list: b"]"}


def decode_in_pieces(raw: bytearray, window_bytes: int = WINDOW_BYTES) -> Any:
    """The decoded document, an object or a list. `raw` is empty afterwards, or holds what was not reached.

    Raises orjson.JSONDecodeError, its line and column as in the naive form, when it is no JSON, and when it is nested
    deeper than _MAX_OPEN windows.
    """
    return all_steps(decode_in_steps(raw, window_bytes))


def decode_in_steps(raw: bytearray, window_bytes: int = WINDOW_BYTES, packer: Packer | None = None) -> Steps[Any]:
    """As `decode_in_pieces`, in steps of about a millisecond; a number or white space is one step, however long it is.
    What `packer` raises is raised, too."""
    reader = _Reader(raw, window_bytes, packer)
    try:
        root = yield from reader.read()
        return root
    except ValueError as error:
        yield
        raise reader.failure(error) from None


class _Reader:
    """`open`: the containers that are open, outermost first. What the innermost one has just had: `has_member`: a
    member; `needs_member`: a comma behind it. `line`, `column`: how many line ends were cut off, and how many
    characters after the last of them. `pack` takes the member `packed_name` of `packed_in`, as long as that is open.

    Lists grow as they are filled: large ones have a mapping of their own (`runtime.memory`), which leaves no hole.
    """

    def __init__(self, raw: bytearray, window_bytes: int, packer: Packer | None) -> None:
        self._packer, self._pack = packer, cast(Pack | None, None)
        self._packed_in, self._packed_name = cast(Any, None), ""
        self._raw, self._window_bytes = raw, window_bytes
        self._open: list[Any] = []
        self._words: dict[str, str] = {}
        self._has_member = self._needs_member = False
        self._line = self._column = 0

    def read(self) -> Steps[Any]:
        self._skip_space()
        root = self._open_container(bytes(self._raw[:1]))
        if root is None:
            raise ValueError("not an object or a list")
        read = 0
        while self._open:
            yield from self._read_window()
            read += 1
            if not read % _WINDOWS_BETWEEN:
                give_back()
            yield
        self._skip_space()
        if self._raw:
            raise ValueError("something follows the document")
        return root

    def failure(self, error: ValueError) -> orjson.JSONDecodeError:
        """What orjson says of the document: what was cut off is right, so it is told of what is left of it."""
        around = b"".join(b"[" if type(each) is list else b'{"":' for each in self._open[:-1])
        innermost = self._open[-1] if self._open else None
        around += b"" if innermost is None else b"[" if type(innermost) is list else b"{"
        member = b"" if not self._has_member else b'"":0 ' if type(innermost) is dict else b"0 "
        member += b"," if self._needs_member else b""
        found = orjson.JSONDecodeError(str(error), "", 0)
        try:
            orjson.loads(around + member + self._raw)
        except orjson.JSONDecodeError as told:
            is_placed = told.lineno == 1 and told.colno > len(around + member)  # not where no text could be read at all
            shift = self._column - len(around + member) if is_placed else 0
            found = orjson.JSONDecodeError(told.msg, "", 0)
            found.lineno, found.colno = told.lineno + self._line, told.colno + shift
        return found

    def _read_window(self) -> Steps[None]:
        window = Window(bytes(self._raw[: self._window_bytes]))
        if -1 in window.levels:
            end, bracket = window.bracket(window.levels.index(-1))
            del window
            container = self._open[-1]
            if bracket != _CLOSING[type(container)]:
                raise ValueError("a bracket closes another")
            if not self._add_run(container, end) and self._needs_member:
                raise ValueError("a member is missing")
            self._end_member()
            return
        comma = window.last_comma()
        del window  # else it stands beside the values that are made of it
        if comma is None:
            yield from self._read_long_member()
            return
        if not self._add_run(self._open[-1], comma):
            raise ValueError("a member is missing")
        self._cut(1)
        self._has_member = self._needs_member = True

    def _add_run(self, container: Any, size: int) -> bool:
        """Add the members in the next `size` bytes; whether there were any."""
        run = bytes(self._raw[:size])
        members = orjson.loads(b"{%b}" % run if type(container) is dict else b"[%b]" % run)
        if self._pack is not None:
            self._pack.add(members, is_run=True)
        else:
            if self._packer is not None:
                self._packer.weigh(members, self._words)
            if b'"' in run:
                self._share_words(members)
            if type(container) is dict:
                container.update(members)
            else:
                container += members
        self._cut(size)
        return bool(members)

    def _share_words(self, root: Any) -> None:
        """Let equal short strings be one: `user`, `text` and `string` stand in every member of some bodies."""
        words, stack = self._words, [root]
        while stack:
            holder = stack.pop()
            for key, value in holder.items() if type(holder) is dict else enumerate(holder):
                kind = type(value)
                if kind is str:
                    if len(value) <= SHARED_CHARS:
                        holder[key] = words.setdefault(value, value)
                elif kind is dict or kind is list:
                    stack.append(value)
        if len(words) > MAX_WORDS:
            words.clear()

    def _read_long_member(self) -> Steps[None]:
        """Open the container, or read the string or number, that is longer than a window."""
        self._skip_space()
        container, start, key = self._open[-1], 0, None
        if type(container) is dict:
            start = yield from end_of_string(self._raw, 0)
            with memoryview(self._raw) as view, view[:start] as text:
                key = cast(str, (yield from text_steps(text, keeps_utf8=False)))
            start = self._end_of(_SPACE, start)
            if self._raw[start : start + 1] != b":":
                raise ValueError("a colon is missing")
            start = self._end_of(_SPACE, start + 1)
        first = bytes(self._raw[start : start + 1])
        if is_container := first in (b"[", b"{"):
            self._cut(start)
            member = self._open_container(first, key or "")
        else:
            is_string = first == b'"'
            end = (yield from end_of_string(self._raw, start)) if is_string else self._end_of(_SCALAR, start)
            yield
            with memoryview(self._raw) as view, view[start:end] as text:  # no copy: it may be all of the document
                if is_string:
                    member = yield from text_steps(text, keeps_utf8=self._keeps_utf8(key))
                else:
                    member = orjson.loads(text)
            members = [member] if key is None else {key: member}
            if self._pack is not None:
                self._pack.add(members, is_run=False)
                member = None
            elif self._packer is not None:
                self._packer.weigh(members, self._words)
            del members
            yield from self._cut_steps(end)
        if key is not None:
            container[key] = member
        else:
            container.append(member)
        if not is_container:
            self._end_member()

    def _keeps_utf8(self, key: str | None) -> bool:
        return self._packer is not None and self._pack is None and key in self._packer.utf8_names

    def _end_member(self) -> None:
        """Read what follows a member that was read by itself: a comma, or the ends of containers."""
        self._has_member, self._needs_member = True, False
        while self._open:
            self._skip_space()
            follows = bytes(self._raw[:1])
            if follows == b",":
                self._cut(1)
                self._needs_member = True
                return
            if follows != _CLOSING[type(self._open[-1])]:
                raise ValueError("a comma is missing")
            self._open.pop()
            self._cut(1)
            if self._pack is not None:
                self._pack.close()
                if self._open[-1] is self._packed_in:
                    self._packed_in[self._packed_name] = self._pack.end()
                    self._pack = self._packed_in = None

    def _open_container(self, bracket: bytes, name: str = "") -> Any:
        """A new list or object, which is open now; None for anything else than its bracket."""
        container: Any = None
        if bracket == b"[":
            container = []
        elif bracket == b"{":
            container = {}
        if container is not None:
            if len(self._open) == _MAX_OPEN:
                raise ValueError("too many levels")
            if self._packer is not None and self._pack is None and name:
                self._pack = self._packer.begin(name, is_list=bracket == b"[")
                self._packed_in, self._packed_name = self._open[-1], name
            if self._pack is not None:
                self._pack.open(name, is_list=bracket == b"[")
            self._open.append(container)
            self._cut(1)
            self._has_member = self._needs_member = False
        return container

    def _end_of(self, pattern: re.Pattern[bytes], start: int) -> int:
        found = pattern.match(self._raw, start)
        if found is None:
            raise ValueError("a member is missing")
        return found.end()

    def _skip_space(self) -> None:
        self._cut(self._end_of(_SPACE, 0))

    def _cut(self, size: int) -> None:
        all_steps(self._cut_steps(size))

    def _cut_steps(self, size: int) -> Steps[None]:
        for start in range(0, size, _PIECE_BYTES):
            if start:
                yield
            text = bytes(self._raw[start : min(start + _PIECE_BYTES, size)])
            lines = text.count(b"\n")
            if lines:
                self._line, self._column = self._line + lines, 0
                text = text[text.rindex(b"\n") + 1 :]
            self._column += len(text) if text.isascii() else len(text.translate(None, _INNER_BYTES))
        if self._pack is not None:
            self._pack.keep(self._raw[:size])
        del self._raw[:size]
