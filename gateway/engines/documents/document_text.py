"""Writes what the readers of documents find as Markdown, or as plain text without its signs. Bounded in characters.

It also decides that a part which cannot be read fails alone, counts hidden text that was left out, and drops lines that
pages repeat at their heads and feet.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from urllib.parse import quote

MAX_CHARS = 2_000_000
"""As much as a page may hold (engines.documents.page); a reader stops there."""
TITLE_WITHIN_CHARS = 600
"""How far from its beginning a document's first heading may be to name it."""
MAX_LEVEL = 6
"""Markdown (CommonMark) has six heading levels."""
MAX_MISSING = 20
"""Parts that are missing or damaged and named."""
_WEB = re.compile(r"\s{0,64}+(?:https?://|mailto:)[^\s]", re.IGNORECASE)
_UNSAFE = re.compile(r"[\s<>()\\]")
_BRACKETS = re.compile(r"[\[\]]")
_EDGE_PARTS = 2
"""Parts at the top and at the bottom of a page that are compared."""
_LEAST_PAGES = 3
_MOST_CHARS = 200
"""Longest repeated line: a title, an author and a date in one."""
_MOST_DIGITS = 5
_OTHER_KINDS = ("|", "- ", "```", "<")


class DocumentText:
    """Collects the parts of a document in order. `is_full`: nothing more is taken."""

    def __init__(self, plain: bool) -> None:
        self.is_plain = plain
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self._parts: list[str] = []
        self._marks: list[int] = []
        self._chars = 0
        self.left_out = 0
        """Characters of hidden text that were left out."""
        self.missing: list[str] = []
        """Names of parts that are missing or damaged."""
        self._around: list[str] = []
        self.first_heading = ""
        """A heading within the first TITLE_WITHIN_CHARS, or ""."""
        self.texts = 0
        """Parts that are not marks."""

    @property
    def is_full(self) -> bool:
        """Whether MAX_CHARS have been reached."""
        return self._chars >= MAX_CHARS

    def leave_out(self, text: str) -> None:
        """Counts a text that the document itself declares as hidden, which is not written."""
        self.left_out += len(text.strip())

    def miss(self, part: str) -> None:
        """Notes a part of the document that is missing or damaged, by its name."""
        if len(self.missing) < MAX_MISSING and part not in self.missing:
            self.missing.append(part)

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        """What is read and written inside is one part of the document, such as `page 3`, and fails alone: whatever a
        damaged part makes its reader raise ends this part and is noted, for a part of another one as `table of page 3`.
        What it wrote stays. MemoryError, which is a limit of the whole, passes."""
        self._around.append(name)
        try:
            yield
        except MemoryError:
            raise
        except Exception:  # a damaged part may bring its reader to raise anything
            self.miss(" of ".join(reversed(self._around)))
        finally:
            self._around.pop()

    def link(self, text: str, url: str) -> str:
        """A text that leads to a web address: `[text](url)`. Only the text for other addresses and in plain texts."""
        label = " ".join(text.split())
        if self.is_plain or not label or not _WEB.match(url):
            return text
        target = _UNSAFE.sub(lambda match: quote(match[0]), url.strip())
        return f"[{_BRACKETS.sub(_escaped, label)}]({target})"

    def formula(self, tex: str, *, is_block: bool = False) -> str:
        """A formula in TeX: `$x^2$`, `$$x^2$$` for one of its own line."""
        marks = "" if self.is_plain else "$$" if is_block else "$"
        return f"{marks}{tex}{marks}" if tex else ""

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
        """Writes a list of `(depth, mark, text)`; an item stands below the text of the one that it is part of."""
        open_items: list[tuple[int, int]] = []  # depth and column of the text
        lines = []
        for depth, mark, text in items:
            if not text.strip():
                continue
            while open_items and open_items[-1][0] >= depth:
                open_items.pop()
            indent = open_items[-1][1] if open_items else 0
            open_items.append((depth, indent + len(mark) + 1))
            lines.append(f"{' ' * indent}{mark} {' '.join(text.split())}")
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


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def running_lines(pages: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """The places `(page, part)` of repeated lines, without the first place of each line, which is kept.

    `pages` are the parts of each page. A line is repeated when at least _LEAST_PAGES pages have it at the same end,
    unchanged or with a number before or after it that counts the pages.
    """
    seen: dict[tuple[str, str, int], dict[int, int]] = {}
    for page, parts in enumerate(pages):
        tops, bottoms = range(min(_EDGE_PARTS, len(parts))), range(max(0, len(parts) - _EDGE_PARTS), len(parts))
        for end, places in (("top", tops), ("bottom", bottoms)):
            for place in places:
                for text, offset in _readings(parts[place], page):
                    seen.setdefault((end, text, offset), {}).setdefault(page, place)
    repeated: set[tuple[int, int]] = set()
    for at in seen.values():
        if len(at) >= _LEAST_PAGES:
            repeated.update(list(at.items())[1:])
    return sorted(repeated)


def _readings(part: str, page: int) -> Iterator[tuple[str, int]]:
    """What must be equal on other pages: the text; or the text without its first or last number, and the difference of
    that number and the page's."""
    if "\n" in part or len(part) > _MOST_CHARS or part.startswith(_OTHER_KINDS):
        return
    is_heading, text = part.startswith("#"), part.lstrip("# ")
    yield f"same {text}", 0
    first, _, after = text.partition(" ")
    before, _, last = text.rpartition(" ")
    for number, rest in ((first, after), (last, before)):
        if is_heading and rest:
            continue  # `Step 2` on the second slide
        if len(number) <= _MOST_DIGITS and number.isascii() and number.isdecimal():
            yield f"numbered {rest}", int(number) - page
