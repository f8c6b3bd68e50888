"""Long texts in UTF-8, of which there is one copy: those that an answer is made of. Knows no wire format."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import itemgetter

LONG_CHARS = 1 << 16
"""Longer texts are kept, read and written in pieces of this size. Chosen: a piece is encoded in 20 µs; at half ordinary
pages are cut for nothing, at double so much more memory is needed beside each text."""


_KEPT_BYTES = 1 << 14
"""Longer texts are kept in UTF-8. Chosen: many calls with arguments of this size may be in one answer. At half ordinary
answers are kept so, each of whose copies is decoded once more (2 µs); at double twice as much memory is taken."""


_INDEX_BYTES = 1 << 13
"""Bytes between two places whose character is known. Chosen: as many are decoded too much when a text is cut (2 µs). At
half the index takes three hundredths of the text, at double each cut of a few characters costs twice.

Naive form: the piece that was decoded last is kept. Of an answer with thirty calls those were all of its texts again,
with four bytes a character."""


class Utf8Text:
    """A long text in decoded data, in the place of a string. The naive form is the string, which takes four bytes for
    each of its characters where one of them is an emoji. Never changed: several events of a stream share one.

    It can be cut like a string (`text[start:end]`, without a step): the bytes around the characters are decoded, and
    not kept. Without an argument it is empty. Lone surrogates are kept, as in strings.
    """

    __slots__ = ("_starts", "utf8")

    def __init__(self, utf8: bytes | bytearray = b"") -> None:
        self.utf8 = utf8
        self._starts: list[tuple[int, int]] | None = None  # of every _INDEX_BYTES, and of the end: (character, byte)

    def __len__(self) -> int:
        """Characters."""
        return self._made_starts()[-1][0]

    def __getitem__(self, place: slice) -> str:
        starts = self._made_starts()
        start, end, _ = place.indices(starts[-1][0])
        if start >= end:
            return ""
        first_char, first_byte = starts[bisect_right(starts, start, key=_CHARACTER) - 1]
        last_byte = starts[bisect_left(starts, end, key=_CHARACTER)][1]
        around = self.utf8[first_byte:last_byte].decode("utf-8", "surrogatepass")
        return around[start - first_char : end - first_char]

    @property
    def text(self) -> str:
        """The string, a new one each time."""
        return self.utf8.decode("utf-8", "surrogatepass")

    def pieces(self) -> Iterator[str]:
        """The text in pieces of at most LONG_CHARS characters."""
        return utf8_pieces(self.utf8)

    def _made_starts(self) -> list[tuple[int, int]]:
        if self._starts is None:
            at = chars = 0
            starts = [(0, 0)]
            while at < len(self.utf8):
                end = _piece_end(self.utf8, at, _INDEX_BYTES)
                chars += len(self.utf8[at:end].translate(None, _INNER_BYTES))
                at = end
                starts.append((chars, at))
            self._starts = starts
        return self._starts


_CHARACTER = itemgetter(0)
_INNER_BYTES = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""


def utf8_pieces(utf8: bytes | bytearray) -> Iterator[str]:
    """The text of some UTF-8 in pieces of at most LONG_CHARS characters."""
    at = 0
    while at < len(utf8):
        end = _piece_end(utf8, at)
        yield utf8[at:end].decode("utf-8", "surrogatepass")
        at = end


def _piece_end(utf8: bytes | bytearray, at: int, size: int = LONG_CHARS) -> int:
    """Where the piece of at most so many bytes that begins at a byte ends: not inside a character."""
    end = min(at + size, len(utf8))
    while end < len(utf8) and utf8[end] & 0xC0 == 0x80:
        end -= 1
    return end


def text_of_utf8(utf8: bytes | bytearray) -> str | Utf8Text:
    """The text as it is kept in decoded data: a long one in UTF-8. `utf8` belongs to it from here on."""
    return Utf8Text(utf8) if len(utf8) > _KEPT_BYTES else utf8.decode("utf-8", "surrogatepass")


_SHORT_CHARS, _MOST_PIECES = 512, 64
"""Pieces of at most so many characters are kept as they are, until there are more than so many. Chosen: they take
128 KB where each has an emoji. At half each word of a stream costs a little more, at double twice as much is held."""


class GrowingText:
    """A text that comes in pieces, in blocks of UTF-8. Naive form: a list of the pieces, which takes 50 bytes for each,
    and four for each character beside an emoji. One growing block would leave holes in the heap as it is moved."""

    __slots__ = ("_blocks", "_last", "_pieces")

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._last = bytearray()
        self._pieces: list[str] = []  # short ones, not yet in UTF-8: most texts are made of them, one for each event

    def add(self, piece: str) -> None:
        """The text goes on."""
        if len(piece) > _SHORT_CHARS:
            self._pack()
            self._append(piece)
            return
        self._pieces.append(piece)
        if len(self._pieces) > _MOST_PIECES:
            self._pack()

    def take(self) -> bytes:
        """The UTF-8 of the whole text; it is empty afterwards."""
        self._pack()
        self._end_block()
        blocks, self._blocks = self._blocks, []
        return b"".join(blocks)

    def _pack(self) -> None:
        if self._pieces:
            self._append("".join(self._pieces))
            self._pieces.clear()

    def _append(self, text: str) -> None:
        for start in range(0, len(text), LONG_CHARS):
            self._last += text[start : start + LONG_CHARS].encode("utf-8", "surrogatepass")
            if len(self._last) > LONG_CHARS:
                self._end_block()

    def _end_block(self) -> None:
        if self._last:
            self._blocks.append(bytes(self._last))
            self._last.clear()


class MeasuredBytes:
    """Bytes that come in pieces, in one block of about their whole length. Naive form: a bytearray that grows. As other
    memory is taken between its pieces it is moved again and again, and leaves holes of several times its length."""

    __slots__ = ("_block", "_end")

    def __init__(self, expected: int) -> None:
        self._block, self._end = bytearray(expected), 0

    def add(self, piece: bytes | memoryview) -> None:
        """The bytes go on."""
        start, self._end = self._end, self._end + len(piece)
        if self._end > len(self._block):
            self._block += bytes(max(len(piece), LONG_CHARS))
        self._block[start : self._end] = piece

    def take(self) -> bytearray:
        """All of them. Nothing may be added afterwards."""
        del self._block[self._end :]
        return self._block
