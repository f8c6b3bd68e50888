"""Joins texts into a long one without a moment in which both take four bytes for each of their characters.

Naive form: `separator.join(texts)`. Where each text has an emoji, that is twice the texts, which are as much as four
times their JSON already. Knows no wire format.
"""

from collections.abc import Iterator
from typing import TypeVar

from gateway.long_texts import LONG_CHARS, GrowingText
from gateway.resilience.freed_memory import give_back

T = TypeVar("T")


def joined_text(texts: list[str], separator: str) -> str:
    """The texts as one. Long ones that are not ASCII are taken out of the list one by one, so that each is let go as
    soon as its UTF-8 exists, unless somebody else has it."""
    if len(texts) < 2 or sum(map(len, texts)) <= LONG_CHARS or all(map(str.isascii, texts)):
        return separator.join(texts)
    whole = GrowingText()
    texts.reverse()
    while texts:
        whole.add(texts.pop())
        if texts:
            whole.add(separator)
    utf8 = whole.take()
    give_back()  # what the texts have left: glibc would take other holes of the heap for the long one
    return utf8.decode("utf-8", "surrogatepass")


def taken(items: list[T], *, is_owned: bool) -> Iterator[tuple[int, T]]:
    """Each item with its index. `is_owned`: nobody else needs the list, which is emptied meanwhile."""
    if not is_owned:
        yield from enumerate(items)
        return
    items.reverse()
    for index in range(len(items)):
        yield index, items.pop()
