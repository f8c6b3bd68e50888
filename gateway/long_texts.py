"""Long texts in UTF-8, of which there is one copy: those that an answer is made of. Knows no wire format."""

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter

LONG_CHARS = 1 << 16
"""Longer texts are kept, read and written in pieces of this size. Chosen: a piece is encoded in 20 µs; at half ordinary
pages are cut for nothing, at double so much more memory is needed beside each text."""


_KEPT_BYTES = 1 << 14
"""Longer texts are kept in UTF-8. Chosen: many calls with arguments of this size may be in one answer. At half ordinary
answers are kept so, each of whose copies is decoded once more (2 µs); at double twice as much memory is taken."""


class Utf8Text:
    """A long text in decoded data, in the place of a string. The naive form is the string, which takes four bytes for
    each of its characters where one of them is an emoji. Never changed: several events of a stream share one.

    It can be cut like a string (`text[start:end]`, without a step): the pieces that hold the characters are decoded.
    Without an argument it is empty. Lone surrogates are kept, as in strings.
    """

    __slots__ = ("_last", "_starts", "utf8")

    def __init__(self, utf8: bytes | bytearray = b"") -> None:
        self.utf8 = utf8
        self._starts: list[tuple[int, int]] | None = None  # of each piece, and of the end: (character, byte)
        self._last = (-1, "")  # the number of the piece that was decoded last, and its text

    def __len__(self) -> int:
        """Characters."""
        return self._made_starts()[-1][0]

    def __getitem__(self, place: slice) -> str:
        starts = self._made_starts()
        start, end, _ = place.indices(starts[-1][0])
        cut, number = [], max(0, bisect_right(starts, start, key=_CHARACTER) - 1)
        while number < len(starts) - 1 and starts[number][0] < end:
            first = starts[number][0]
            cut.append(self._piece(number)[max(0, start - first) : end - first])
            number += 1
        return "".join(cut)

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
            self._starts = [(0, 0)]
            for piece in utf8_pieces(self.utf8):
                at, chars = _piece_end(self.utf8, at), chars + len(piece)
                self._starts.append((chars, at))
        return self._starts

    def _piece(self, number: int) -> str:
        kept, text = self._last
        if kept != number:
            starts = self._made_starts()
            text = self.utf8[starts[number][1] : starts[number + 1][1]].decode("utf-8", "surrogatepass")
            self._last = (number, text)
        return text


_CHARACTER = itemgetter(0)


def utf8_pieces(utf8: bytes | bytearray) -> Iterator[str]:
    """The text of some UTF-8 in pieces of at most LONG_CHARS characters."""
    at = 0
    while at < len(utf8):
        end = _piece_end(utf8, at)
        yield utf8[at:end].decode("utf-8", "surrogatepass")
        at = end


def _piece_end(utf8: bytes | bytearray, at: int) -> int:
    """Where the piece that begins at a byte ends: not inside a character."""
    end = min(at + LONG_CHARS, len(utf8))
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
