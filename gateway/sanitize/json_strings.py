"""How deep in strings of JSON a place of a text is: JSON may hold JSON as a string, and words may hold JSON.

{"to": "         ->  in a string of the document
{"body": "{\"to\": \"   ->  in a string of a document that is a string itself
Log in with {"to": "  ->  in a string of a document with words around it
"""

import re

import orjson

_QUOTE = re.compile(r'(?<!\\)\\*+"')
_TOKEN = re.compile(r'(?<!\\)\\*+"|[{}\[\]]')
_BEGINS_JSON = re.compile(
    r"(?:\s|\\{1,64}+[nrt]|(?!)){0,64}+[\[{](?:[\s\[\]{},:0-9.eE+-]|\\{1,64}+[nrt]|true|false|null|(?!)){0,64}+"
)
"""What stands before the first quotation mark of a string that holds JSON."""
_PARTS = sorted(
    {word[low:high] for word in ("true", "false", "null") for low in range(5) for high in range(low + 1, 6)}
)
_WORDS = "|".join(filter(None, _PARTS[::-1]))
_BETWEEN = re.compile(rf"(?:[\s,:0-9.eE+-]|\\++[nrt]?|(?:{_WORDS})(?![A-Za-z])|(?!))*+")
"""What may stand between the strings and brackets of a document: other words end it. Pieces are cut anywhere, also in
`true`, `false` and `null`."""
_MAX_HEAD_CHARS, _MAX_DEPTH = 64, 6
_MANY_BACKSLASHES = 2**_MAX_DEPTH
"""As many before a quotation mark as no document has."""


class JsonStrings:
    """Reads a text forward, in pieces cut anywhere. `depth`: of the document at its end, 1 for the text itself, 0 for
    words around documents (`in_words`); `in_string`: whether the end is in a string of that document."""

    __slots__ = ("_backslashes", "_begun", "_head", "_in_words", "_open", "depth", "in_string")

    def __init__(self, *, in_words: bool = False) -> None:
        self._in_words = in_words
        self.depth, self.in_string = 0 if in_words else 1, False
        self._backslashes = ""  # those at the end, which belong to what follows
        self._head: str | None = None  # what was read of a string that may hold a document
        self._begun, self._open = 0, 0  # of a document among words: its depth, and its open brackets

    def read(self, piece: str) -> None:
        """Go on with the text's next piece."""
        if self._in_words and not self._open and "{" not in piece and "[" not in piece:
            return
        piece = self._backslashes + piece
        end = len(piece.rstrip("\\"))
        at = 0
        for match in (_TOKEN if self._in_words else _QUOTE).finditer(piece, 0, end):
            sign = match.group()
            if sign[-1] == '"':
                self._between(piece[at : match.start()])
                self._quote(len(sign) - 1)
            elif not self.in_string:
                self._between(piece[at : match.start()])
                self._bracket(sign)
            else:
                continue
            at = match.end()
        self._between(piece[at:end])
        self._backslashes = piece[end:][:_MANY_BACKSLASHES]

    def _between(self, text: str) -> None:
        if self._head is not None:
            self._head = self._head + text if len(self._head) + len(text) <= _MAX_HEAD_CHARS else None
        if self._open and not self.in_string and text and _BETWEEN.fullmatch(text) is None:
            self._leave()

    def _bracket(self, sign: str) -> None:
        """Count the brackets of a document in words, which begins with one and ends with its counterpart."""
        if self.depth in (0, self._begun):
            self._open = max(0, self._open + (1 if sign in "{[" else -1))
            if not self._open:
                self._leave()

    def _leave(self) -> None:
        self._open = self._begun = self.depth = 0
        self.in_string, self._head = False, None

    def _quote(self, backslashes: int) -> None:
        """A quotation mark of the document at depth n has 2^(n-1) - 1 backslashes before it."""
        is_mark = not (backslashes + 1) & backslashes
        depth = (backslashes + 1).bit_length() if is_mark else _MAX_DEPTH + 1
        if self._in_words and not self.depth:
            if self._open and depth <= _MAX_DEPTH:
                self.depth = self._begun = depth
                self.in_string, self._head = True, ""
            return
        head, self._head = self._head, None
        if depth < self._begun:
            self._leave()  # the string around it ends
        elif depth < self.depth:
            self.depth, self.in_string = depth, False
        elif depth == self.depth:
            self.in_string = not self.in_string
            self._head = "" if self.in_string else None
        elif depth == self.depth + 1 <= _MAX_DEPTH and head is not None and _BEGINS_JSON.fullmatch(head):
            self.depth, self._head = depth, ""

    def written(self, value: str, *, quotes: bool) -> str:
        """A value as it is written at the text's end, escaped as often as documents are nested; with quotation marks
        where no string is open and `quotes` says so."""
        if not self.depth:
            return value
        text = orjson.dumps(value).decode()
        text = text if quotes and not self.in_string else text[1:-1]
        for _ in range(self.depth - 1):
            text = orjson.dumps(text).decode()[1:-1]
        return text

    def meaning(self, spelt: str) -> str:
        """What stands for a value at the text's end: without the escapes of the strings that it is in.

        in {"to": "   zQ7\\\\w9  ->  zQ7\\w9
        """
        value = spelt
        for _ in range(self.depth if self.in_string else 0):
            try:
                value = orjson.loads(f'"{value}"')
            except orjson.JSONDecodeError:
                return spelt
        return value
