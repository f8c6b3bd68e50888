"""Lines that a document repeats at the head or foot of its pages: title, chapter, page number. Pure."""

from collections.abc import Iterator, Sequence

_EDGE_PARTS = 2
"""Parts at the top and at the bottom of a page that are compared. Chosen: a title and a number, a name and a date."""
_LEAST_PAGES = 3
"""Chosen: two pages may begin alike by chance; at double, short chapters keep their names on every page."""
_MOST_CHARS = 200
"""Longest repeated line: a title, an author and a date in one."""
_MOST_DIGITS = 5
_OTHER_KINDS = ("|", "- ", "```", "<")


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
