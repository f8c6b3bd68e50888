"""Contents lists, whose titles and page numbers are joined by rows of dots: `1.2 Quoting . . . . . . 6`. Pure."""

import re

_LEADER = re.compile(r" ?(?:[.·…‥] ?+){8,}+")
"""Chosen: people write up to six dots for a pause; the shortest rows in contents lists have some ten."""
_PAGE_NUMBER = re.compile(r"(?:[0-9]{1,5}|[ivxlcIVXLC]{1,8})(?=\s|$)")
_SECTION_NUMBER = re.compile(r"(?:[0-9A-Z]{1,3}\.){0,7}[0-9A-Z]{1,3}\.?(?=\s)")

Item = tuple[int, str, str]
"""(depth, mark, text), as `DocumentText.items` takes them."""


def entries(text: str) -> list[Item] | None:
    """The entries of which a text wholly consists, as items of a list; None if it is another text.

    An entry is one line or several, or shares its line with the next one. Its depth is that of its section number.
    """
    if _LEADER.search(text) is None:
        return None
    *titles, rest = _LEADER.split(" ".join(text.split()))
    items: list[Item] = []
    title, *others = titles
    for after in (*others, rest):
        number = _PAGE_NUMBER.match(after)
        if number is None or not title.strip():
            return None
        items.append((_depth(title), "-", f"{title.strip()} … {number[0]}"))
        title = after[number.end() :].strip()
    return None if title else items


def without_leaders(text: str) -> str:
    """The text with an ellipsis in the place of each row of dots."""
    return _LEADER.sub(" … ", text)


def _depth(title: str) -> int:
    number = _SECTION_NUMBER.match(title.lstrip())
    return number[0].rstrip(".").count(".") if number else 0
