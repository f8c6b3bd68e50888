"""Puts declarative shadow trees in the place of what they hide: a browser shows the tree, and of its element's own
children those that a slot of the tree takes up.

Rules of `style` elements inside a tree hold inside it (see `styles`), while it is taken out. Source: HTML, 4.12.3
(`shadowrootmode`), DOM 4.2.2 (slots); read 2026-11-22. Runs in the parsing processes.
"""

from dataclasses import dataclass
from typing import Any

_HOSTS = frozenset(
    {
        "article", "aside", "blockquote", "body", "div", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "main",
        "nav", "p", "section", "span",
    }
)  # fmt: skip
"""Elements that may have a shadow tree, beside those of the page's own kinds (with a `-` in their name)."""


@dataclass(slots=True)
class ShadowTree:
    """A tree, taken out of the document, and its element's own children by slot."""

    host: Any
    content: Any
    slots: dict[str, Any]
    assigned: dict[Any, list[Any]]


def take_out(root: Any) -> list[ShadowTree]:
    """Takes all shadow trees out of a document.

    Moving an element walks all that it holds. So what lies deepest is taken out first and put in last: each element is
    moved alone, however deep trees are nested.
    """
    trees = [_taken_out(template) for template in reversed(_templates(root))]
    trees.reverse()
    return trees


def put_in(trees: list[ShadowTree]) -> None:
    """Each tree becomes the content of its element."""
    for tree in trees:
        _read_parts(tree)
    for tree in reversed(trees):
        _assign(tree)
    for tree in trees:
        for slot, nodes in tree.assigned.items():
            slot.text = None
            slot[:] = nodes
        tree.host.text = tree.content.text
        tree.host[:] = list(tree.content)


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


def _taken_out(template: Any) -> ShadowTree:
    host, tail, before = template.getparent(), template.tail, template.getprevious()
    template.tail = None
    if tail and before is not None:
        before.tail = (before.tail or "") + tail
    elif tail:
        host.text = (host.text or "") + tail
    host.remove(template)
    template.tag = "div"
    return ShadowTree(host, template, {}, {})


def _read_parts(tree: ShadowTree) -> None:
    """Notes the slots of a tree, and empties its sheets: neither is found once elements inside it give up children."""
    for part in list(tree.content.iter("slot", "style", "link")):
        if part.tag == "slot":
            tree.slots.setdefault(part.get("name") or "", part)
        else:
            part.text = None
            part.attrib.clear()


def _assign(tree: ShadowTree) -> None:
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
