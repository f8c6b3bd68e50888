"""Joins texts into a long one without a moment in which both take four bytes for each of their characters.

Naive form: `separator.join(texts)`. Where each text has an emoji, that is twice the texts, which are as much as four
times their JSON already. Knows no wire format.
"""

from collections.abc import Iterator
from typing import TypeVar

from gateway.long_texts import LONG_CHARS, GrowingText
from gateway.resilience.freed_memory import give_back
from gateway.resilience.slices import Steps, all_steps

T = TypeVar("T")


def joined_text(texts: list[str], separator: str) -> str:
    """As `joined_steps`, at once."""
    return separator.join(texts) if len(texts) < 2 else all_steps(joined_steps(texts, separator))


def joined_steps(texts: list[str], separator: str) -> Steps[str]:
    """The texts as one, in steps of a few milliseconds but for the last one (4 ms a megabyte). Long ones that are not
    ASCII are taken out of the list one by one, so that each is let go as soon as its UTF-8 exists, unless somebody else
    has it."""
    if len(texts) < 2 or sum(map(len, texts)) <= LONG_CHARS or all(map(str.isascii, texts)):
        return separator.join(texts)
    whole, chars = GrowingText(), 0
    texts.reverse()
    while texts:
        text = texts.pop()
        whole.add(text)
        if texts:
            whole.add(separator)
        chars += len(text)
        del text
        if chars > LONG_CHARS:
            chars = 0
            yield
    utf8 = whole.take()
    give_back()  # what the texts have left: glibc would take other holes of the heap for the long one
    yield
    return utf8.decode("utf-8", "surrogatepass")


def taken(items: list[T], *, is_owned: bool) -> Iterator[tuple[int, T]]:
    """Each item with its index. `is_owned`: nobody else needs the list, which is emptied meanwhile."""
    return _popped(items) if is_owned else enumerate(items)


def _popped(items: list[T]) -> Iterator[tuple[int, T]]:
    items.reverse()
    for index in range(len(items)):
        yield index, items.pop()
