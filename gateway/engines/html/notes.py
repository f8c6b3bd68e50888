"""Marks footnotes: a number in the text and the note that it leads to become `note` elements of one name.

A note is recognized in three forms: a link leads to it, it is an item of a numbered list after the text, or it stands
beside its number. Runs in the parsing processes.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from gateway.engines.html.tree import BLOCKS, raw_text, remove_all, text_of, text_size

NOTE_MARK = re.compile(r"[\[(]?(\d{1,3}|[a-z]{1,2}|[*\u2020\u2021\u00a7]{1,3})[\])]?")
_NUMBER = re.compile(r"[\[(]?(\d{1,3})[\])]?")
_LEADING_NUMBER = re.compile(r"[\[(]?(\d{1,3})(?:[\])]|[.:]?\s|[.:]?\Z)[.:]?\s*+")
_WORD_SIGN = re.compile(r"\w")
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_NO_NOTES = _HEADINGS | {"body", "main", "article", "section", "table", "tr", "ol", "ul"}
_OF_NOTES = frozenset({"p", "ul", "ol", "blockquote", "pre"})  # what may stand between one note and the next
_NOTE_CHARS, _NOTE_LINKS = 3_000, 50  # longest note, and links in it that are looked at
_NOTE_ROLES = frozenset({"doc-footnote", "doc-endnote", "note", "tooltip", "footnote", "endnote", "rearnote"})
_MARK_ROLES = frozenset({"doc-noteref", "noteref"})
"""Roles of ARIA, and types of EPUB."""
_KEEPING = frozenset({"td", "th", "li", "dd", "dt", "caption", "summary", "figcaption"})
"""Boxes that cannot have another one behind them: a note beside its mark goes to their end."""
_MARK_ELEMENTS = 4  # most elements inside a mark
_FIRST_LEVELS = 3  # elements, each the first in the one before, that are searched for the beginning of a box


def link_notes(root: Any) -> list[tuple[Any, Any]]:
    """Makes `note` elements of footnotes, and returns the box of each note with the first mark of it in the text.

    `fire<sup>1</sup> … <ol><li>So says the book.</li></ol>` becomes `fire<note>1</note> … <div><div><note
    define="true">1</note>So says the book.</div></div>`. Marks of which no note is found become `[1]`."""
    order: dict[Any, int] = {element: at for at, element in enumerate(root.iter())}
    found: dict[Any, tuple[Any, str]] = {}
    _find_beside(root, found)
    _find_linked(root, found, order)
    _find_counted(root, found, order)
    for box, (mark, name) in found.items():
        _write_note(box, mark, name)
    for notes in {box.getparent() for box in found}:
        if notes is not None and notes.tag in ("ol", "ul") and all(item.tag != "li" for item in notes):
            notes.tag = "div"
    return [(box, mark) for box, (mark, _) in found.items()]


def is_mark(element: Any) -> bool:
    """Whether an element is a number, a letter or a sign that may lead to a note, and nothing else."""
    return len(element) < _MARK_ELEMENTS and NOTE_MARK.fullmatch(raw_text(element).strip()) is not None


def _find_beside(root: Any, found: dict[Any, tuple[Any, str]]) -> None:
    """Notes directly behind their mark, inside it, or in its `title`."""
    for mark, note in list(_besides(root)):
        number = NOTE_MARK.fullmatch((mark.text if note.getparent() is mark else raw_text(mark)).strip())
        block = _block_of(mark)
        own = block.makeelement("div")
        if block.tag in _KEEPING:
            block.append(own)
        else:
            block.addnext(own)
            own.tail, block.tail = block.tail, None
        remove_all([note])
        note.tail = None
        own.append(note)
        found[own] = mark, number[1]  # type: ignore[index]


def _besides(root: Any) -> Iterator[tuple[Any, Any]]:
    """(mark, note) of the notes beside their marks."""
    for element in root.iter("span", "small", "sup"):
        if element.tag == "sup":
            words = (element.get("title") or "").split()
            if len(words) > 1 and is_mark(element) and next(element.iter("a"), None) is None:
                note = element.makeelement("span")
                note.text = " ".join(words)
                yield element, note
        elif _is_named_note(element):
            box, before = element.getparent(), element.getprevious()
            if before is None and box.tag not in BLOCKS and NOTE_MARK.fullmatch((box.text or "").strip()):
                yield box, element
            elif before is not None and _leads(before):
                yield before, element
            elif before is not None and not NOTE_MARK.fullmatch((element.text or "").strip()):
                before.tail = f"{before.tail or ''} "  # a note in the line without a mark is no part of the word


def _leads(before: Any) -> bool:
    return before.tag not in BLOCKS and is_mark(before) and not (before.tail or "").strip()


def _is_named_note(element: Any) -> bool:
    if (element.get("role") or element.get("epub:type")) and not _NOTE_ROLES.isdisjoint(_roles(element)):
        return True
    return "note" in (element.get("class") or "").lower() and not is_mark(element)


def _roles(element: Any) -> list[str]:
    return f"{element.get('role') or ''} {element.get('epub:type') or ''}".split()


def _find_linked(root: Any, found: dict[Any, tuple[Any, str]], order: dict[Any, int]) -> None:
    """Notes that a link such as `[1]` leads to, and that link back or to which a raised number leads."""
    links = [each for each in root.iter("a") if len(each.get("href") or "") > 1 and each.get("href")[0] == "#"]
    marks = [(link, NOTE_MARK.fullmatch(text_of(link))) for link in links]
    wanted = {unquote(link.get("href")[1:]) for link in links}
    places: dict[str, Any] = {}
    for element in order if any(mark for _, mark in marks) else ():
        for name in (element.get("id"), element.get("name")) if isinstance(element.tag, str) else ():
            if name in wanted:
                places.setdefault(name, element)
    names: set[str] = set()
    boxes: dict[Any, Any] = {}  # of headings that are numbers of notes
    again: list[tuple[Any, str]] = []
    for link, mark in marks:
        box = _block_of(places.get(unquote(link.get("href")[1:]))) if mark is not None else None
        if box is not None and box.tag in _HEADINGS and is_mark(box) and next(box.iter("a"), None) is not None:
            heading = box
            if heading not in boxes:
                boxes[heading] = _boxed(heading)
                order[boxes[heading]] = order[heading]
            box = boxes[heading]
        if mark is None or box is None or order[box] < order[link] or not _is_note(box, link, places):
            continue
        if box in found:
            again.append((link, found[box][1]))
            continue
        name = mark[1] if mark[1] not in names and mark[1].isalnum() else str(len(found) + 1)
        names.add(name)
        found[box] = link, name
    for link, name in again:
        _become_mark(link, name)


def _become_mark(element: Any, name: str) -> None:
    element.clear(keep_tail=True)
    element.tag, element.text = "note", name


def _block_of(element: Any) -> Any:
    while element is not None and element.tag not in BLOCKS:
        element = element.getparent()
    return element


def _boxed(heading: Any) -> Any:
    """A new box around a heading, which is the number of a note, and what is below it."""
    below = list(itertools.takewhile(lambda each: each.tag not in _HEADINGS, heading.itersiblings()))
    box = heading.makeelement("div")
    heading.addprevious(box)
    box.extend([heading, *below])
    return box


def _is_note(box: Any, link: Any, places: dict[str, Any]) -> bool:
    """Whether a box is a short text that leads back to the block in which the link stands, or the link is raised."""
    block = _block_of(link)
    if box.tag in _NO_NOTES or box is block or text_size(box) > _NOTE_CHARS:
        return False
    links = [each.get("href") or "" for each in itertools.islice(box.iter("a"), _NOTE_LINKS)]
    backs = [places.get(unquote(href[1:])) for href in links if href.startswith("#")]
    is_raised = next(link.iter("sup"), None) is not None or next(link.iterancestors("sup"), None) is not None
    return (
        is_raised
        or not _MARK_ROLES.isdisjoint(_roles(link))
        or not _NOTE_ROLES.isdisjoint(_roles(box))
        or raw_text(link).strip()[0] in "[("
        or any(back is None or _block_of(back) is block for back in backs)
    )


def _find_counted(root: Any, found: dict[Any, tuple[Any, str]], order: dict[Any, int]) -> None:
    """Notes without links: raised numbers of a text that count from one, and as many numbered boxes behind the last."""
    first: dict[int, Any] = {}
    marks: list[tuple[Any, int]] = []
    led = {mark for mark, _ in found.values()}
    for raised in root.iter("sup"):
        number = _NUMBER.fullmatch(raw_text(raised).strip())
        if number is None or not led.isdisjoint((raised, raised.getparent(), *raised.iter("a"))) or _begins(raised):
            continue
        if int(number[1]) > len(first) + 1 or not int(number[1]):
            return  # powers, or numbers of another text
        first.setdefault(int(number[1]), raised)
        marks.append((raised, int(number[1])))
    if not marks or found:
        return
    last = max(order[mark] for mark, _ in marks)
    groups = [group for group in _numbered_boxes(root) if len(group) == len(first)]
    groups = [group for group in groups if order.get(group[0], order.get(group[0].getparent(), 0)) > last]
    for box, (counted, mark) in zip(groups[-1] if groups else (), first.items(), strict=False):
        found[box] = mark, str(counted)
    for box, following in itertools.pairwise(groups[-1] if groups else ()):
        between = list(_until(box, following))
        if all(each.tag in _OF_NOTES for each in between) and sum(map(text_size, between)) <= _NOTE_CHARS:
            box.extend(between)
    led = {mark for mark, _ in found.values()}
    for mark, counted in marks:
        if mark not in led:
            _become_mark(mark, str(counted))
            if not led:
                mark.tag, mark.text = "span", f"[{counted}]"


def _until(box: Any, following: Any) -> Iterator[Any]:
    """What stands between two boxes side by side."""
    for sibling in box.itersiblings():
        if sibling is following:
            return
        yield sibling


def _begins(element: Any) -> bool:
    """Whether an element is the beginning of its block."""
    box = element.getparent()
    return element.getprevious() is None and not (box.text or "").strip() and box.tag in BLOCKS


def _numbered_boxes(root: Any) -> Iterator[list[Any]]:
    """Groups of boxes numbered from one: items of a list, or boxes side by side that begin with numbers."""
    for numbered in root.iter("ol"):
        yield [item for item in numbered if item.tag == "li"] or [numbered]
    groups: dict[Any, list[Any]] = {}
    for box in root.iter("p", "div", "li", "dd"):
        before = box.getprevious()
        head = before if box.tag == "dd" and before is not None else box
        number = _LEADING_NUMBER.match(_beginning(head))
        group = groups.setdefault(box.getparent(), [])
        if number is not None and int(number[1]) == len(group) + 1:
            group.append(box)
    yield from filter(None, groups.values())


def _beginning(box: Any) -> str:
    """The first text of a box, or of its first element, or of the first one in that."""
    for _ in range(_FIRST_LEVELS):
        if (box.text or "").strip() or not len(box):
            break
        box = box[0]
    return f"{(box.text or '').strip()} "


def _write_note(box: Any, link: Any, name: str) -> None:
    before, around = link.getprevious(), link.getparent()
    if (link.tail or "").startswith("]") and before is None and (around.text or "").endswith("["):
        around.text, link.tail = around.text[:-1], link.tail[1:]
    _become_mark(link, name)
    for back in [each for each in box.iter("a") if (each.get("href") or "").startswith("#")]:
        if not _WORD_SIGN.search(text_of(back)) or NOTE_MARK.fullmatch(text_of(back)):
            while (outer := back.getparent()) is not box and text_size(outer) - text_size(back) < len("^ "):
                back = outer
            remove_all([back])
    term = box.getprevious()
    if box.tag == "dd" and term is not None and term.tag == "dt" and is_mark(term):
        remove_all([term])
    remove_all(number for number in itertools.islice(box.iter("sup"), 1) if _begins(number) and is_mark(number))
    first = next((each for each in box.iter("p", "div") if each is not box and (each.text or "").strip()), box)
    definition = box.makeelement("note", {"define": "true"})
    text = (first.text or "").lstrip()
    number = _LEADING_NUMBER.match(text)
    text = text[number.end() :] if number is not None and number[1] == name else text
    definition.text, definition.tail = name, text.lstrip("\u2191^ \n\t")
    first.text = None
    first.insert(0, definition)
    if box.tag in ("li", "dd", "dt"):
        box.tag = "div"
