"""Puts declarative shadow trees in the place of what they hide: a browser shows the tree, and of its element's own
children those that a slot of the tree takes up.

Rules of `style` elements inside a tree hold for the tree, for its element (`:host`) and for what stands in its slots
(`::slotted()`); they are written into `style` attributes, as the rules of the page must not be mixed with them. Left
out are `:host-context()`, which only one browser knows, `::part()` and slots that scripts fill. Source: HTML, 4.12.3
(`shadowrootmode`), DOM 4.2.2 (slots), CSS Scoping 1; read 2026-11-22. Runs in the parsing processes.
"""

import re
import secrets
from dataclasses import dataclass
from typing import Any

from gateway.engines.html.cascade import Cascade
from gateway.engines.html.css_rules import RuleReader, split_list
from gateway.engines.html.marked_elements import MarkedElements
from gateway.engines.html.selector_matcher import SelectorMatcher
from gateway.engines.html.selectors import NotValidError, read_selectors

_HOSTS = frozenset(
    {
        "article", "aside", "blockquote", "body", "div", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "main",
        "nav", "p", "section", "span",
    }
)  # fmt: skip
"""Elements that may have a shadow tree, beside those of the page's own kinds (with a `-` in their name)."""
_MOST_TREES = 2_000
"""Trees whose own rules are read. Chosen: a page of a framework has some hundred; what those beyond it hide stays.
At double a page made for it takes twice the 2 s."""
_INSIDE = r"\(([^()]{0,300}(?:\([^()]{0,100}\)[^()]{0,100}){0,4})\)"
_HOST = re.compile(rf":host(?![\w-])(?:{_INSIDE})?", re.IGNORECASE)
_SLOTTED = re.compile(rf"::slotted{_INSIDE}", re.IGNORECASE)
_MARK = f"host-{secrets.token_hex(8)}"
"""Attribute that marks the stand-in for the host while the rules of a tree are applied; pages cannot guess it."""


@dataclass(slots=True)
class _Tree:
    """A tree, taken out of the document, and its element's own children by slot."""

    host: Any
    content: Any
    slots: dict[str, Any]
    assigned: dict[Any, list[Any]]


def flatten(root: Any) -> None:
    """Replaces all shadow trees of a document.

    Moving an element walks all that it holds. So what lies deepest is taken out first and put in last: each element is
    moved alone, however deep trees are nested.
    """
    trees = [_taken_out(template) for template in reversed(_templates(root))]
    trees.reverse()
    outward = [_rules(tree) if number < _MOST_TREES else [] for number, tree in enumerate(trees)]
    for tree in trees:
        _read_parts(tree)
    for tree in reversed(trees):
        _assign(tree)
    for tree, rules in zip(trees, outward, strict=True):
        for selector, body, strings in rules:
            _apply_outwards(tree, selector, body, strings)
    for tree in trees:
        _put_in(tree)


def _templates(root: Any) -> list[Any]:
    """The templates that a browser makes shadow trees of: the first of an element that may have one."""
    found: dict[Any, Any] = {}
    trees: set[Any] = set()
    for template in root.iter("template"):
        host = template.getparent()
        if (template.get("shadowrootmode") or "").lower() not in ("open", "closed") or host is None or host in found:
            continue
        around = next(host.iterancestors("template"), None)
        if (host.tag in _HOSTS or "-" in host.tag) and (around is None or around in trees):
            found[host] = template
            trees.add(template)
    return list(found.values())


def _taken_out(template: Any) -> _Tree:
    host, tail, before = template.getparent(), template.tail, template.getprevious()
    template.tail = None
    if tail and before is not None:
        before.tail = (before.tail or "") + tail
    elif tail:
        host.text = (host.text or "") + tail
    host.remove(template)
    template.tag = "div"
    return _Tree(host, template, {}, {})


def _read_parts(tree: _Tree) -> None:
    """Notes the slots of a tree, and empties its sheets: neither is found once elements inside it give up children."""
    for part in list(tree.content.iter("slot", "style", "link")):
        if part.tag == "slot":
            tree.slots.setdefault(part.get("name") or "", part)
        else:
            part.text = None
            part.attrib.clear()


def _assign(tree: _Tree) -> None:
    """Takes the element's children out, and notes those that a slot takes up. Words of its own become elements."""
    host, free = tree.host, tree.slots.get("")
    nodes = [_words(host, host.text)]
    for child in list(host):
        nodes += [child, _words(host, child.tail)]
        child.tail = None
        host.remove(child)
    host.text = None
    for node in nodes:
        if node is not None and isinstance(node.tag, str):
            slot = tree.slots.get(node.get("slot") or "")
            if slot is not None:
                tree.assigned.setdefault(slot, []).append(node)
    if free is not None and all(not _holds_more(node) for node in tree.assigned.get(free, ())):
        tree.assigned.pop(free, None)  # blanks alone leave a slot its own content


def _words(host: Any, text: str | None) -> Any:
    if not text:
        return None
    element = host.makeelement("span")
    element.text = text
    return element


def _holds_more(node: Any) -> bool:
    return len(node) > 0 or node.tag != "span" or bool(node.attrib) or bool((node.text or "").strip())


def _rules(tree: _Tree) -> list[tuple[str, str, list[str]]]:
    """Writes what the rules of the tree's sheets say of its elements into their `style` attributes. Returns the rules
    that may hold for its host and for what its slots take up: selector, declarations, strings of the sheet."""
    sheets = [sheet for sheet in tree.content.iter("style") if sheet.text]
    if not sheets:
        return []
    for sheet in sheets:
        sheet.text = _HOST.sub(lambda match: _host_test(tree.host, match[1]), sheet.text)
    tree.content.set(_MARK, "")
    styles = Cascade(tree.content, MarkedElements(tree.content), whole=True)
    for element in tree.content.iter():
        if element is not tree.content and isinstance(element.tag, str) and (text := styles.as_attribute(element)):
            element.set("style", text)
    reader = RuleReader()
    return [
        (selector.strip(), rule.body, reader.strings)
        for sheet in sheets
        for rule in reader.read(sheet.text)
        for selector in split_list(rule.selectors)
    ]


def _apply_outwards(tree: _Tree, selector: str, body: str, strings: list[str]) -> None:
    """Applies a rule to the host of the tree, or to the elements assigned to its slots."""
    if selector == f"[{_MARK}]":
        _add_style(tree.host, body)
    elif (match := _SLOTTED.search(selector)) and match.end() == len(selector):
        for nodes in tree.assigned.values():
            for node in nodes:
                if _matches(node, match[1], strings):
                    _add_style(node, body)


def _add_style(element: Any, body: str) -> None:
    element.set("style", f"{body};{element.get('style') or ''}")


def _host_test(host: Any, selector: str | None) -> str:
    return f"[{_MARK}]" if selector is None or _matches(host, selector, []) else ":not(*)"


def _matches(element: Any, selector: str, strings: list[str]) -> bool:
    """Whether an element matches a selector without its ancestors and siblings."""
    alone = element.makeelement(element.tag, dict(element.attrib))
    matcher = SelectorMatcher()
    try:
        for each in read_selectors(selector, strings):
            matcher.add(each, 0)
    except NotValidError:
        return False
    return bool(matcher.match([alone])[0])


def _put_in(tree: _Tree) -> None:
    """The tree becomes the content of its element."""
    for slot, nodes in tree.assigned.items():
        slot.text = None
        slot[:] = nodes
    tree.host.text = tree.content.text
    tree.host[:] = list(tree.content)
