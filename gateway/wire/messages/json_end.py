"""Finds out whether pieces of text are a complete JSON object so far, in time linear in the text.

Naive form: decode the joined text after every piece. Knows no tool.
"""

import re

_MARKS = re.compile(r'["\\{}\[\]]')


class JsonEnd:
    """The text of one call's arguments."""

    def __init__(self, *, keeps_text: bool = True) -> None:
        self._kept: list[str] | None = [] if keeps_text else None
        self._unread: list[str] = []
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._ended = False

    def add(self, piece: str) -> None:
        """Add a piece; the next `is_complete` reads it."""
        self._unread.append(piece)
        if self._kept is not None:
            self._kept.append(piece)

    def text(self) -> str:
        """Everything so far, where it is kept."""
        return "".join(self._kept or ())

    def is_complete(self) -> bool:
        """Whether the first bracket has been closed again. False for an empty text."""
        for piece in self._unread:
            self._read_piece(piece)
        self._unread.clear()
        return self._ended

    def _read_piece(self, piece: str) -> None:
        skip = 0 if self._escaped and piece else -1  # the place of a letter behind a backslash
        self._escaped = self._escaped and not piece
        for mark in _MARKS.finditer(piece):
            at, letter = mark.start(), mark[0]
            if at == skip:
                continue
            if letter == "\\":
                if self._in_string:
                    skip, self._escaped = at + 1, at + 1 == len(piece)
            elif letter == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                self._depth += 1 if letter in "{[" else -1
                self._ended = self._ended or self._depth <= 0
