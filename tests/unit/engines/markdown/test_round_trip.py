"""The Markdown of a random tree, read by markdown-it, has the words, blocks and emphasis of the tree."""

import random
from typing import Any

import pytest
from lxml import html
from markdown_it import MarkdownIt

from gateway.engines.html.tree import parse
from gateway.engines.markdown.writer import Writer, WriterOptions

_READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_WORDS = (
    "clock", "bell", "*", "_", "a_b", "2*3", "`", "<b>", "[x]", "(y)", "#", "1.", "-", "+", "|", "~~", "\\", "&amp;",
    "“quoted”", "snake_case_name", "!", "note:", "x.", "…", "塔", "**", "](z)", "=", "---",
    ">", "12)", "![a]", "\\*", "__init__", "$5", "é",
)  # fmt: skip


class _Tree:
    """Random markup; `seed` decides all of it."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def words(self) -> str:
        chosen = self._random.choices(_WORDS, k=self._random.randint(1, 4))
        return self._random.choice(("", " ")).join(chosen).replace("&", "&amp;").replace("<", "&lt;")

    def inline(self, depth: int = 0, outer: frozenset[str] = frozenset()) -> str:
        pieces = []
        for _ in range(self._random.randint(1, 4)):
            tag = self._random.choice(("", "", "strong", "em", "code", "a", "del", "br"))
            if tag == "br":
                pieces.append("word<br>word")
            elif not tag or depth > 1 or tag in outer:
                pieces.append(self.words())
            elif tag == "code":
                pieces.append(f"<code>{self._random.choice(('x`y', 'a|b', '*', 'f()'))}</code>")
            elif tag == "a":
                pieces.append(f'<a href="/p">{self.inline(depth + 1, outer | {tag})}</a>')
            else:
                pieces.append(f"<{tag}>{self.inline(depth + 1, outer | {tag})}</{tag}>")
        return self._random.choice(("", " ")).join(pieces)

    def blocks(self, depth: int = 0) -> str:
        return "".join(self.block(depth) for _ in range(self._random.randint(1, 4)))

    def block(self, depth: int) -> str:
        kind = self._random.choice(("p", "p", "h2", "ul", "ol", "blockquote", "pre", "table", "hr"))
        if depth > 2 or kind in ("p", "h2"):
            return f"<{'p' if depth > 2 else kind}>{self.inline()}</{'p' if depth > 2 else kind}>"
        if kind in ("ul", "ol"):
            items = "".join(f"<li>{self._item(depth)}</li>" for _ in range(self._random.randint(1, 3)))
            start = self._random.choice(("", " start=7", " reversed")) if kind == "ol" else ""
            return f"<{kind}{start}>{items}</{kind}>"
        if kind == "blockquote":
            return f"<blockquote><p>quoted</p>{self.blocks(depth + 1)}</blockquote>"
        if kind == "pre":
            return "<pre>  if x:\n\n    - y ``` *\n</pre>"
        if kind == "hr":
            return "<p>above</p><hr><p>below</p>"
        rows = "".join(f"<tr><td>{self.inline()}</td><td>{self.inline()}</td></tr>" for _ in range(2))
        return f"<table><tr><th>one</th><th>two</th></tr>{rows}</table>"

    def _item(self, depth: int) -> str:
        return self.inline() if self._random.random() < 0.6 else f"<p>item</p>{self.blocks(depth + 1)}"


def _shape(element: Any) -> list[str]:
    """The tags of blocks and the words between them, in order."""
    out: list[str] = []

    def add(text: str | None) -> None:
        if text and out and not out[-1].startswith("\0"):
            out[-1] += text
        elif text:
            out.append(text)

    def walk(each: Any) -> None:
        for child in each:
            if child.tag in ("ul", "ol", "li", "blockquote", "pre", "table", "tr", "h2", "hr", "p", "td", "th"):
                name = "" if child.tag in ("p", "td", "th") else child.tag.replace("ol", "ul")
                out.append(f"\0{name}")
                add(child.text)
                walk(child)
                out.append(f"\0{name and '/'}{name}")
            else:
                add("\n" if child.tag == "br" else child.text)
                walk(child)
            add(child.tail)

    walk(element)
    return [
        piece for piece in (each if each[0] == "\0" else " ".join(each.split()) for each in out) if piece.strip("\0")
    ]


def _without_list_breaks(shape: list[str]) -> list[str]:
    """Lists that are counted backwards are several lists for readers of Markdown."""
    return "\1".join(shape).replace("\0/ul\1\0ul\1", "").split("\1")


def _words_of(shape: list[str]) -> str:
    return "".join("".join(piece.split()) for piece in shape if piece[0] != "\0")


@pytest.mark.slow  # random trees
@pytest.mark.parametrize("seed", range(400))
def test_the_markdown_of_a_tree_is_read_as_the_tree(seed: int) -> None:
    markup = _Tree(seed).blocks()
    root = parse(f"<body>{markup}</body>").find("body")
    want = _shape(root)
    text = Writer(WriterOptions("http://a.test/")).write(root)
    rendered = _READER.render(text)
    found = _shape(html.fromstring(f"<div>{rendered}</div>"))
    assert _words_of(found) == _words_of(want), f"{markup}\n{text}\n{rendered}"
    assert _without_list_breaks(found) == _without_list_breaks(want), f"{markup}\n{text}\n{rendered}"
