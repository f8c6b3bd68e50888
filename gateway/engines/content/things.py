"""Writes what structured data says of a recipe, job, event, article, work or questions, for a page that shows nothing.

What is told of which type is the table in `thing_fields`. Nothing is trusted: any value may be missing, of another
type, hold markup, or be as long as a page. Runs in the parsing processes; does not decide when the page shows nothing.
"""

import html
import itertools
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from gateway.domain import Json
from gateway.engines.content.structured_values import MAX_DEPTH, fact, first_of, listed, name_of, types_of
from gateway.engines.content.thing_fields import fields_of
from gateway.engines.html.dom import parse
from gateway.engines.html.hidden import drop_hidden
from gateway.engines.html.holdable import holdable
from gateway.engines.html.no_text import drop_code
from gateway.engines.markdown.writer import Writer, WriterOptions

_MAX_CHARS = 200_000
"""Characters of structured data that are written for one page. Chosen: a very long article. At half, such are cut; at
double, a hostile page takes twice the time (0.3 s)."""
_MAX_ENTRIES = 200
"""Entries of one list. Chosen: long recipes have 40 steps, pages of questions 100. At half, these are cut; at double, a
page made for it has twice the entries."""
_MAX_STEP_CHARS = 5_000
"""One step. Chosen: a long paragraph. At half such are cut; at double a page made for it is twice as long."""
_BLOCK = re.compile(r"</?(?:p|br|li|ol|ul|div|h[1-6])\b[^<>]{0,500}>", re.IGNORECASE)
_ENTRY_CHARS = 50
"""What a text takes of the room beside its characters: each may be markup to parse. Chosen: 4,000 texts in all. At half
a page of tiny answers takes twice the time (0.3 s); at double, long pages of questions are cut."""
_MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,500}>")


def write_things(things: list[Json], is_held: Callable[[str], bool], options: WriterOptions) -> str:
    """What the objects say, as Markdown or plain text. `is_held`: whether the page shows a value already."""
    made = _Document(is_held)
    for thing in things:
        made.add(thing)
    return made.write(options)


class _Document:
    """A document that is made of the values, each of them once, so that it is written like any other page."""

    def __init__(self, is_held: Callable[[str], bool]) -> None:
        self._root = parse("<html><body></body></html>")
        self._body = self._root.find("body")
        self._is_held = is_held
        self._told: set[str] = set()
        self._left = _MAX_CHARS
        self._has_markup = False

    def write(self, options: WriterOptions) -> str:
        if self._has_markup:
            drop_hidden(self._root)
            drop_code(self._root)
        return Writer(options).write(self._body)

    def add(self, thing: Json) -> None:
        """The object's name as a heading, and its fields; nothing of an object that has a name alone."""
        name = name_of(thing.get("headline") or thing.get("title") or thing.get("name"))
        self._under("h1", name, lambda: self._fields(thing))

    def _under(self, tag: str, text: str, tell: Callable[[], None]) -> None:
        """Writes a value under a heading; without a value, or if the page shows it already, writes neither."""
        is_new = text and text not in self._told and not self._is_held(text)
        heading, before = self._append(self._body, tag, text) if is_new else None, self._left
        self._told.add(text)
        tell()
        if self._left == before and heading is not None:
            self._body.remove(heading)

    def _fields(self, thing: Json) -> None:
        kind = next(kind for kind in sorted(types_of(thing)) if fields_of(kind))
        for form, fields in itertools.groupby(fields_of(kind), key=lambda field: field[1]):
            told = [(label, value) for keys, _, label in fields if (value := _first_told(thing, keys)) is not None]
            if form == "fact":
                self._list("ul", [f"{label}: {text}" for label, value in told if (text := self._fact(value))])
                continue
            tell = {"text": self._text, "list": self._names, "steps": self._steps, "questions": self._questions}[form]
            for label, value in told:
                self._under("h2", label, partial(tell, value))

    def _append(self, box: Any, tag: str, text: str) -> Any:
        element = box.makeelement(tag)
        element.text = holdable(text)
        box.append(element)
        return element

    def _fact(self, value: Any) -> str:
        text = fact(value)
        return "" if self._is_held(text) else text

    def _shown(self, texts: list[str]) -> list[str]:
        """The entries of a list; none if the page shows most of them."""
        found = [text for text in texts if text]
        return [] if 2 * sum(map(self._is_held, found)) > len(found) else found

    def _names(self, value: Any) -> None:
        self._list("ul", self._shown([fact(each) for each in listed(value)[:_MAX_ENTRIES]]))

    def _list(self, tag: str, texts: list[str]) -> None:
        entries = [text for text in texts if self._take(text)]
        if entries:
            box = self._append(self._body, tag, "")
            for text in entries:
                self._append(box, "li", text)

    def _take(self, text: str) -> str:
        """The text as far as there is room for it."""
        taken = text[: max(self._left, 0)]
        self._left -= len(taken) + _ENTRY_CHARS
        return taken

    def _text(self, value: Any) -> None:
        """Paragraphs, or the markup that a value holds; each text once, and none that the page shows."""
        for each in listed(value)[:_MAX_ENTRIES]:
            text = (each if isinstance(each, str) else fact(each))[: max(self._left, 0)]
            if text in self._told or not text.strip():
                continue
            self._told.add(text)
            text = text if _MARKUP.search(text) else html.unescape(text)
            root = parse(text) if _MARKUP.search(text) else None
            inside = root.find("body") if root is not None else None
            if inside is None:
                for line in text.splitlines():
                    if line.strip() and self._left > 0 and not self._is_held(line):
                        self._append(self._body, "p", self._take(line))
            elif not self._is_held("".join(inside.itertext())):
                inside.tag, self._has_markup = "div", True
                self._take(text)
                self._body.append(inside)

    def _steps(self, value: Any) -> None:
        """Numbered steps, below the names of their sections. A single text may have several paragraphs."""
        if isinstance(value, str):
            self._text(value)
            return
        waiting: list[str] = []
        for name, step in itertools.islice(_sections(value), _MAX_ENTRIES):
            if name:
                self._list("ol", self._shown(waiting))
                waiting = []
                self._append(self._body, "h3", name)
            if step:
                waiting.append(step)
        self._list("ol", self._shown(waiting))

    def _questions(self, value: Any) -> None:
        for each in listed(value)[:_MAX_ENTRIES]:
            if isinstance(each, dict):
                self._under("h2", name_of(each.get("name")) or name_of(each.get("text")), partial(self._answers, each))

    def _answers(self, question: Json) -> None:
        """The question's own text, if it has a name beside it, and its answers."""
        if name_of(question.get("name")):
            self._text(question.get("text"))
        for answer in [*listed(question.get("acceptedAnswer")), *listed(question.get("suggestedAnswer"))]:
            self._text(first_of(answer.get("text")) if isinstance(answer, dict) else answer)


def _first_told(thing: Json, keys: str) -> Any:
    """The value of the first of the properties that has one; None if none has."""
    if not keys:
        return thing
    return next((value for key in keys.split() if (value := thing.get(key)) not in (None, "", [], {})), None)


def _sections(value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """`(name of a section, "")` and `("", step)` of instructions, in their order."""
    if depth > MAX_DEPTH:
        return
    for each in listed(value):
        if not isinstance(each, dict):
            yield "", _step_text(each)
            continue
        text, name = first_of(each.get("text")), name_of(each.get("name"))
        inner = each.get("itemListElement")
        if inner and not isinstance(text, str):
            yield name, ""
            yield from _sections(inner, depth + 1)
        else:
            yield "", _step_text(text) or name


def _step_text(value: Any) -> str:
    """A step on one line, without markup."""
    text = html.unescape(value[:_MAX_STEP_CHARS]) if isinstance(value, str) else ""
    return " ".join(_MARKUP.sub("", _BLOCK.sub(" ", text)).split())
