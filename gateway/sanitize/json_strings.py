"""How deep in strings of JSON a place of a JSON text is: JSON may hold JSON as a string, and so on.

{"to": "         ->  in a string of the document
{"body": "{\"to\": \"   ->  in a string of a document that is a string itself
"""

import re

import orjson

_QUOTE = re.compile(r'(?<!\\)\\*+"')
_BEGINS_JSON = re.compile(
    r"(?:\s|\\{1,64}+[nrt]){0,64}+[\[{](?:[\s\[\]{},:0-9.eE+-]|\\{1,64}+[nrt]|true|false|null){0,64}+"
)
"""What stands before the first quotation mark of a string that holds JSON."""
_MAX_HEAD_CHARS, _MAX_DEPTH = 64, 6
_MANY_BACKSLASHES = 2**_MAX_DEPTH
"""As many before a quotation mark as no document has."""


class JsonStrings:
    """Reads a JSON text forward, in pieces cut anywhere. `depth`: of the document at its end, 1 for the text itself;
    `in_string`: whether the end is in a string of that document."""

    __slots__ = ("_backslashes", "_head", "depth", "in_string")

    def __init__(self) -> None:
        self.depth, self.in_string = 1, False
        self._backslashes = ""  # those at the end, which belong to what follows
        self._head: str | None = None  # what was read of a string that may hold a document

    def read(self, piece: str) -> None:
        """Go on with the text's next piece."""
        piece = self._backslashes + piece
        end = len(piece.rstrip("\\"))
        at = 0
        for match in _QUOTE.finditer(piece, 0, end):
            self._between(piece[at : match.start()])
            self._quote(len(match.group()) - 1)
            at = match.end()
        self._between(piece[at:end])
        self._backslashes = piece[end:][:_MANY_BACKSLASHES]

    def _between(self, text: str) -> None:
        if self._head is not None:
            self._head = self._head + text if len(self._head) + len(text) <= _MAX_HEAD_CHARS else None

    def _quote(self, backslashes: int) -> None:
        """A quotation mark of the document at depth n has 2^(n-1) - 1 backslashes before it."""
        is_mark = not (backslashes + 1) & backslashes
        depth = (backslashes + 1).bit_length() if is_mark else _MAX_DEPTH + 1
        head, self._head = self._head, None
        if depth < self.depth:
            self.depth, self.in_string = depth, False
        elif depth == self.depth:
            self.in_string = not self.in_string
            self._head = "" if self.in_string else None
        elif depth == self.depth + 1 <= _MAX_DEPTH and head is not None and _BEGINS_JSON.fullmatch(head):
            self.depth, self._head = depth, ""

    def written(self, value: str, *, quotes: bool) -> str:
        """A value as it is written at the text's end, escaped as often as documents are nested; with quotation marks
        where no string is open and `quotes` says so."""
        text = orjson.dumps(value).decode()
        text = text if quotes and not self.in_string else text[1:-1]
        for _ in range(self.depth - 1):
            text = orjson.dumps(text).decode()[1:-1]
        return text
