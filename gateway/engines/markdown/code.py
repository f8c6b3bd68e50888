"""Reads a block of code as it runs: its text without line numbers, bars, buttons and tooltips; and its language."""

import itertools
import re
from typing import Any

from gateway.engines.html.tree import BLOCKS, raw_text
from gateway.engines.markdown.inline import CONTROLS, MAX_DEPTH

_LANGUAGE_CLASS = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-(?:source|text)|highlight(?!\s+highlight)|sourceCode|brush:?)[-: ]\s*"
    r"([A-Za-z0-9+#._-]+)"
)
_NO_LANGUAGE = frozenset({"default", "text", "none", "plain", "plaintext", "highlight", "source", "notranslate"})
_BARE = frozenset(
    {
        "bash", "c", "console", "cpp", "csharp", "css", "diff", "go", "haskell", "html", "ini", "java", "javascript",
        "js", "json", "jsx", "kotlin", "lua", "make", "markdown", "php", "perl", "powershell", "python", "python3",
        "pycon", "r", "ruby", "rust", "scala", "sh", "shell", "sql", "swift", "toml", "ts", "tsx", "typescript", "xml",
        "yaml", "zsh",
    }
)  # fmt: skip
_SPOKEN = {"c++": "cpp", "c#": "csharp", "plain text": "", "plaintext": "", "text": "", "code": ""}
"""What bars call languages beside the names in _BARE."""
_MAX_BOXES = 3  # elements around a code block, parts of tables aside, whose classes may name its language
_MAX_LANGUAGE_CHARS = 20  # longer names are classes rather than languages
_TABLE_PARTS = frozenset({"td", "tr", "tbody", "table"})
_LINE_NUMBERS = frozenset({"linenos", "lineno", "linenumber", "line-number", "line-numbers", "gutter", "hljs-ln-n"})
_HELP = frozenset(
    {"tooltip", "tooltiptext", "tooltip-text", "hover-info", "copy", "copy-button", "copy-btn", "copybutton", "copybtn",
     "select-none", "user-select-none"}
)  # fmt: skip
_HELP_ROLES = frozenset({"tooltip", "button", "toolbar"})
_UNSELECTABLE = re.compile(r"user-select\s*:\s*none")
_LINES = frozenset({"div", "p", "li", "tr"})
_LEAST_NUMBERS, _MAX_DIGITS = 2, 8  # numbers that count lines, and digits of the first
_Texts = list[tuple[str | None, Any]]
"""Texts with the elements around them; a `br` has none; None ends the line of an element."""


def code_text(pre: Any) -> str:
    """The block's text verbatim, but without what is no code and outer blank lines; line ends are `\\n`.

    `<pre><div>python</div><code><i>1</i>log()\\n<i>2</i>stop()</code></pre>` is `log()\\nstop()`."""
    bar = _language_bar(pre)
    texts: _Texts = []
    _collect(pre, texts, _beside_code(pre) | {bar}, 0)
    if not any(text and not text.isspace() for text, _ in texts):
        _collect(pre, texts, None, 0)
    text = _joined(texts, _line_numbers(texts))
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u00a0", " ")
    return re.sub(r"^(?:[ \t]*+\n|(?!))++", "", text).rstrip()


def language_of(pre: Any) -> str:
    """The language in lower case, named by the block, its code element, the elements around it or a bar in it; empty
    without one."""
    nearest = [element for element in (next(pre.iter("code"), None), pre) if element is not None]
    around = (box for box in pre.iterancestors() if box.tag not in _TABLE_PARTS)
    for element in (*nearest, *itertools.islice(around, _MAX_BOXES)):
        for name in ("data-lang", "data-language", "lang-name", "language"):
            if element.get(name):
                return _clean(element.get(name))
        classes = element.get("class") or ""
        match = _LANGUAGE_CLASS.search(classes)
        if match is not None and _clean(match[1]):
            return _clean(match[1])
        words = classes.lower().split()
        if element in nearest or "highlight" in words:
            for word in words:
                if word in _BARE:
                    return word
    bar = _language_bar(pre)
    name = "" if bar is None else _label(bar)
    return _SPOKEN.get(name, name)


def listing_of(rows: list[list[Any]]) -> list[Any]:
    """The elements that hold the code of a table which is a listing: a row of line numbers and code, perhaps below the
    name of a file, or such a row for each line. Empty for another table. `rows`: the cells of each row."""
    if not rows or len(rows[-1]) != 2:
        return []
    if len(rows) == 1 or (len(rows) == 2 and len(rows[0]) == 1):
        numbers, code = rows[-1]
        return list(itertools.islice(code.iter("pre"), 1)) if _are_numbers(raw_text(numbers).split()) else []
    if any(len(row) != 2 for row in rows):
        return []
    numbers = [raw_text(row[0]).strip() for row in rows]
    codes = [next(row[1].iter("pre", "code"), row[1]) for row in rows]
    if any(raw_text(row[1]).strip() != raw_text(code).strip() for row, code in zip(rows, codes, strict=True)):
        return []
    are_code = all(code.tag != "td" or not raw_text(code).strip() for code in codes)
    has_code = any(code.tag != "td" for code in codes)
    return codes if are_code and has_code and (not any(numbers) or _count_up(numbers)) else []


def _are_numbers(words: list[str]) -> bool:
    return bool(words) and all(map(str.isdecimal, words))


def _count_up(numbers: list[str]) -> bool:
    """Whether numbers go up by one, as those of lines do."""
    start = int(numbers[0]) if numbers[0].isdecimal() and len(numbers[0]) < _MAX_DIGITS else 0
    return len(numbers) >= _LEAST_NUMBERS and numbers == [str(start + at) for at in range(len(numbers))]


def _clean(name: str) -> str:
    lowered = re.sub(r"[^a-z0-9+#._-]", "", name.lower())
    return "" if lowered in _NO_LANGUAGE else lowered[:_MAX_LANGUAGE_CHARS]


def _collect(element: Any, texts: _Texts, skipped: set[Any] | None, depth: int) -> None:
    """Appends the texts inside an element, without the skipped elements and what serves the reader; all if `skipped` is
    None."""
    if element.text:
        texts.append((element.text, element))
    for child in element:
        if child.tag == "br":
            texts.append(("\n", None))
        elif skipped is None or not (child in skipped or _serves_reader(child)):
            if depth < MAX_DEPTH:
                _collect(child, texts, skipped, depth + 1)
            if _is_line(child):
                texts.append((None, None))
        if child.tail:
            texts.append((child.tail, element))


def _is_line(child: Any) -> bool:
    """Whether an element holds one line: some highlighters use blocks instead of line ends. So does a sample with
    another one right behind it: the same in two languages, of which a button shows one."""
    following = child.getnext()
    return child.tag in _LINES or (
        child.tag == "code" and not child.tail and following is not None and following.tag == "code"
    )


def _serves_reader(child: Any) -> bool:
    """Whether an element is a button, a tooltip, or what nobody can select, such as a line number."""
    if child.tag in CONTROLS or child.get("data-line-number") is not None or child.get("unselectable") == "on":
        return True
    names = (child.get("class") or "").lower().split()
    return (
        (child.get("role") or "") in _HELP_ROLES
        or not _LINE_NUMBERS.isdisjoint(names)
        or not _HELP.isdisjoint(names)
        or bool(_UNSELECTABLE.search(child.get("style") or ""))
    )


def _joined(texts: _Texts, left_out: set[Any]) -> str:
    pieces: list[str] = []
    for text, element in texts:
        if text is None:
            if pieces and not pieces[-1].endswith("\n"):
                pieces.append("\n")
        elif element not in left_out:
            pieces.append(text)
    return "".join(pieces)


def _line_numbers(texts: _Texts) -> set[Any]:
    """The elements that count the lines, in front of each or all before the first: elements of one kind, or in one box,
    which hold nothing but numbers that go up by one, as many as there are lines."""
    numbers: dict[Any, list[str]] = {}
    members: dict[Any, set[Any]] = {}
    others: set[Any] = set()
    for text, element in texts:
        if text is None or element is None or not (words := text.split()):
            continue
        is_number = not len(element) and _are_numbers(words)
        for key in _groups(element):
            if is_number and key not in others:
                numbers.setdefault(key, []).extend(words)
                members.setdefault(key, set()).add(element)
            elif not is_number:
                others.add(key)
    first = next((element for text, element in texts if text and not text.isspace()), None)
    for key, counted in numbers.items():
        if key in others or first not in members[key] or not _count_up(counted):
            continue
        rest = _joined(texts, members[key]).strip()
        if rest and abs(rest.count("\n") + 1 - len(counted)) <= 1:
            return members[key]
    return set()


def _groups(element: Any) -> tuple[Any, ...]:
    """What an element may share with others: tag, class and style of it and of its parent, the same as the first one in
    its parent, or the parent itself."""
    parent = element.getparent()
    kind = tuple((each.tag, each.get("class"), each.get("style")) for each in (element, parent))
    return kind, (*kind, element.getprevious() is None), parent


def _beside_code(pre: Any) -> set[Any]:
    """The boxes beside the `code` of a block that has text in boxes alone: bars with a name, a language, buttons."""
    box = pre
    while True:
        holders = [child for child in box if any(map(_is_shown, child.iter("code")))]
        if not holders or any((text or "").strip() for text in (box.text, *(child.tail for child in box))):
            return set()
        beside = {child for child in box if child not in holders and (child.tag in BLOCKS or child.tag == "a")}
        if beside or len(holders) > 1 or holders[0].tag == "code":
            return beside
        box = holders[0]


def _is_shown(code: Any) -> bool:
    """Whether an element does not stand in a tooltip or the like."""
    return not any(map(_serves_reader, itertools.islice(code.iterancestors(), _MAX_BOXES)))


def _language_bar(pre: Any) -> Any:
    """The box, or the element in front of the `code`, that holds nothing but the name of a language; None without."""
    bar = next((element for element in pre.iter() if (element.text or "").strip()), pre)
    if bar is pre or (_label(bar) not in _BARE and _label(bar) not in _SPOKEN):
        return None
    while (outer := bar.getparent()) is not pre and not any(
        (child.tail or "").strip() or (child is not bar and child.tag not in CONTROLS and raw_text(child).strip())
        for child in outer
    ):
        bar = outer
    following = bar.getnext()
    if following is None:
        return None
    is_line = (following.tag, following.get("class")) == (bar.tag, bar.get("class"))
    if is_line and next(bar.iter(*CONTROLS), None) is None:
        return None
    return bar if bar.tag in BLOCKS or following.tag == "code" else None


def _label(element: Any) -> str:
    return " ".join((element.text or next(filter(str.strip, element.itertext()), "")).lower().split())
