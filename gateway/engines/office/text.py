"""Writes what the readers of documents find as Markdown, or as plain text without its signs. Bounded in characters."""

MAX_CHARS = 2_000_000
"""As much as a page may hold (engines.extract.page); a reader stops there."""
MAX_LEVEL = 6
"""Markdown (CommonMark) has six heading levels."""


class DocumentText:
    """Collects the parts of a document in order. `is_full`: nothing more is taken."""

    def __init__(self, plain: bool) -> None:
        self._plain = plain
        self._parts: list[str] = []
        self._chars = 0
        self.texts = 0
        """Parts that are not marks."""

    @property
    def is_full(self) -> bool:
        """Whether MAX_CHARS have been reached."""
        return self._chars >= MAX_CHARS

    def heading(self, level: int, text: str) -> None:
        """A heading of level 1 to 6; an empty one is left out."""
        text = " ".join(text.split())
        if text:
            self._add(text if self._plain else f"{'#' * max(1, min(MAX_LEVEL, level))} {text}")

    def paragraph(self, text: str) -> None:
        """A paragraph with its line breaks; an empty one is left out."""
        if text.strip():
            self._add(text.strip())

    def items(self, items: list[tuple[int, str, str]]) -> None:
        """A list: `(depth, mark, text)` of each item, depth from 0."""
        lines = [f"{'   ' * depth}{mark} {' '.join(text.split())}" for depth, mark, text in items if text.strip()]
        self.paragraph("\n".join(lines))

    def table(self, rows: list[list[str]]) -> None:
        """A table, its first row as head; empty columns at the right and empty rows are left out."""
        rows = [[" ".join(cell.split()) for cell in row] for row in rows]
        width = max((n + 1 for row in rows for n, cell in enumerate(row) if cell), default=0)
        rows = [(row + [""] * width)[:width] for row in rows if any(row)]
        if not rows:
            return
        if self._plain:
            self._add("\n".join("\t".join(row) for row in rows))
            return
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        self._add("\n".join([lines[0], "|" + " --- |" * width, *lines[1:]]))

    def mark(self, text: str) -> None:
        """A mark between pages, sheets or slides, such as `page 3`."""
        self._add(f"--- {text} ---" if self._plain else f"<!-- {text} -->", is_text=False)

    def whole(self) -> str:
        """All parts, blank lines between them."""
        return "\n\n".join(self._parts)[:MAX_CHARS]

    def _add(self, part: str, *, is_text: bool = True) -> None:
        if not self.is_full:
            self.texts += is_text
            self._parts.append(part)
            self._chars += len(part) + 2
