"""Writes what the readers of documents find as Markdown, or as plain text without its signs. Bounded in characters.

It also decides which of the texts that people cannot see are left out, and counts them.
"""

from itertools import pairwise

from gateway.engines.answer.hidden_share import hides_too_much
from gateway.engines.documents.running_lines import running_lines

MAX_CHARS = 2_000_000
"""As much as a page may hold (engines.documents.page); a reader stops there."""
TITLE_WITHIN_CHARS = 600
"""How far from its beginning a document's first heading may be to name it. Chosen: a logo, a date and an address may
stand above it; at double the heading of a first section names a letter."""
MAX_LEVEL = 6
"""Markdown (CommonMark) has six heading levels."""


class DocumentText:
    """Collects the parts of a document in order. `is_full`: nothing more is taken. `keeps_unseen`: texts that only look
    as if people could not see them are taken too."""

    def __init__(self, plain: bool, *, keeps_unseen: bool = False) -> None:
        self.is_plain = plain
        self._keeps_unseen = keeps_unseen
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self._parts: list[str] = []
        self._marks: list[int] = []
        self._chars = self._declared_chars = self._unseen_chars = 0
        self.first_heading = ""
        """A heading within the first TITLE_WITHIN_CHARS, or ""."""
        self.texts = 0
        """Parts that are not marks."""

    @property
    def is_full(self) -> bool:
        """Whether MAX_CHARS have been reached."""
        return self._chars >= MAX_CHARS

    @property
    def left_out(self) -> int:
        """Characters of hidden text that were left out."""
        return self._declared_chars + self._unseen_chars

    @property
    def hides_too_much(self) -> bool:
        """Whether so much was left out for its looks that the document must be read again with `keeps_unseen`."""
        return hides_too_much(self._unseen_chars, self._chars + self._unseen_chars)

    def leaves_out(self, text: str, *, is_declared: bool = False) -> bool:
        """Whether a hidden text must be left out; it is counted then. `is_declared`: the document itself says that it
        is hidden; otherwise its looks do, such as its colour or place."""
        if self._keeps_unseen and not is_declared:
            return False
        count = len(text.strip())
        if is_declared:
            self._declared_chars += count
        else:
            self._unseen_chars += count
        return True

    def heading(self, level: int, text: str) -> None:
        """A heading of level 1 to 6; an empty one is left out."""
        text = " ".join(text.split())
        if text:
            if not self.first_heading and self._chars < TITLE_WITHIN_CHARS:
                self.first_heading = text
            self._add(text if self.is_plain else f"{'#' * max(1, min(MAX_LEVEL, level))} {text}")

    def paragraph(self, text: str) -> None:
        """A paragraph with its line breaks; an empty one is left out."""
        if text.strip():
            self._add(text.strip())

    def items(self, items: list[tuple[int, str, str]]) -> None:
        """Writes a list of `(depth, mark, text)`. Items of the least depth are not indented."""
        top = min((depth for depth, _, _ in items), default=0)
        lines = [
            f"{'   ' * (depth - top)}{mark} {' '.join(text.split())}" for depth, mark, text in items if text.strip()
        ]
        self.paragraph("\n".join(lines))

    def table(self, rows: list[list[str]]) -> None:
        """A table, its first row as head; empty columns at the right and empty rows are left out."""
        rows = [[" ".join(cell.split()) for cell in row] for row in rows]
        width = max((n + 1 for row in rows for n, cell in enumerate(row) if cell), default=0)
        rows = [(row + [""] * width)[:width] for row in rows if any(row)]
        if not rows:
            return
        if self.is_plain:
            self._add("\n".join("\t".join(row) for row in rows))
            return
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        self._add("\n".join([lines[0], "|" + " --- |" * width, *lines[1:]]))

    def mark(self, text: str) -> None:
        """A mark before a page, sheet or slide, such as `page 3`."""
        self._marks.append(len(self._parts))
        self._add(f"--- {text} ---" if self.is_plain else f"<!-- {text} -->", is_text=False)

    def drop_running_lines(self) -> None:
        """Leaves out what the marked pages repeat at their heads and feet. Called once, after the last page."""
        starts = [mark + 1 for mark in self._marks]
        pages = [self._parts[start : end - 1] for start, end in pairwise([*starts, len(self._parts) + 1])]
        for page, part in reversed(running_lines(pages)):
            del self._parts[starts[page] + part]

    def whole(self) -> str:
        """All parts, blank lines between them."""
        return "\n\n".join(self._parts)[:MAX_CHARS]

    def _add(self, part: str, *, is_text: bool = True) -> None:
        if not self.is_full:
            self.texts += is_text
            self._parts.append(part)
            self._chars += len(part) + 2
