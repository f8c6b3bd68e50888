"""Code blocks: their text with all blanks, and the language that the page names. Knows nothing of Markdown."""

import re
from typing import Any

from gateway.engines.markdown.inline import CONTROLS, MAX_DEPTH

_LANGUAGE_CLASS = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-(?:source|text)|highlight(?!\s+highlight)|sourceCode|brush:?)[-: ]\s*"
    r"([A-Za-z0-9+#._-]+)"
)
_NO_LANGUAGE = frozenset({"default", "text", "none", "plain", "plaintext", "highlight", "source", "notranslate"})
_BARE = frozenset(
    {
        "bash", "c", "console", "cpp", "csharp", "css", "diff", "go", "haskell", "html", "ini", "java", "javascript",
        "js", "json", "kotlin", "lua", "make", "markdown", "php", "perl", "powershell", "python", "python3", "pycon",
        "r", "ruby", "rust", "scala", "sh", "shell", "sql", "swift", "toml", "ts", "typescript", "xml", "yaml", "zsh",
    }
)  # fmt: skip
_MAX_BOXES = 3
"""Elements around a code block whose classes may name its language: Chosen as
highlighters wrap it in a few. Further out, a
class such as `language-en` describes the page."""
_MAX_LANGUAGE_CHARS = 20
"""Chosen: longer names are classes rather than languages. At half, names such as `objective-cpp` are cut."""
_LINE_NUMBERS = frozenset({"linenos", "lineno", "linenumber", "line-number", "line-numbers", "gutter", "hljs-ln-n"})


def language_of(pre: Any) -> str:
    """The language in lower case, named by the block, its code element or the elements around it; empty without one."""
    code = pre.find("code")
    nearest = [element for element in (code, pre) if element is not None]
    around = list(pre.iterancestors())[:_MAX_BOXES]
    for element in nearest + around:
        for name in ("data-lang", "data-language", "lang-name"):
            if element.get(name):
                return _clean(element.get(name))
        match = _LANGUAGE_CLASS.search(element.get("class") or "")
        if match is not None and _clean(match[1]):
            return _clean(match[1])
    for element in nearest:
        for word in (element.get("class") or "").lower().split():
            if word in _BARE:
                return word
    return ""


def _clean(name: str) -> str:
    lowered = re.sub(r"[^a-z0-9+#._-]", "", name.lower())
    return "" if lowered in _NO_LANGUAGE else lowered[:_MAX_LANGUAGE_CHARS]


def code_text(pre: Any) -> str:
    """The block's text verbatim, but without line numbers and outer blank lines; line ends are `\\n`."""
    pieces: list[str] = []
    _collect(pre, pieces, 0)
    text = "".join(pieces).replace("\r\n", "\n").replace("\r", "\n").replace("\u00a0", " ")
    return re.sub(r"^(?:[ \t]*+\n)++", "", text).rstrip()


def _collect(element: Any, pieces: list[str], depth: int) -> None:
    if element.text:
        pieces.append(element.text)
    for child in element:
        if isinstance(child.tag, str) and child.tag not in CONTROLS:
            classes = (child.get("class") or "").lower().split()
            if child.tag == "br":
                pieces.append("\n")
            elif _LINE_NUMBERS.isdisjoint(classes) and child.get("data-line-number") is None:
                if depth < MAX_DEPTH:
                    _collect(child, pieces, depth + 1)
                _end_line(child, pieces)
        if child.tail:
            pieces.append(child.tail)


def _end_line(child: Any, pieces: list[str]) -> None:
    """Adds a line end after an element that holds one line: some highlighters use blocks instead of line ends. So it
    does between two samples that have nothing between them: the same in two languages, of which a button shows one."""
    is_line = child.tag in ("div", "p", "li", "tr")
    if child.tag == "code" and not child.tail:
        following = child.getnext()
        is_line = following is not None and following.tag == "code"
    if is_line and pieces and not pieces[-1].endswith("\n"):
        pieces.append("\n")
