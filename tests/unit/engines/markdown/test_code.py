"""Code of a page is read as it runs, however its lines, their numbers and what stands around them are marked."""

import re

import pytest

from tests.support.read_pages import content_of

_LINES = ["def weigh(hive):", "    total = [1, 2, 3]", "", "    return total", "print(weigh(7))"]
_CODE = "\n".join(_LINES).replace("3", "<b class=n>3</b>")
_NUMBERS = {
    "none": "{1}",
    "unselectable": "<span style='width:3em;user-select: none'> {0} </span>{1}",
    "of one kind": "<span class='q7'>{0}</span>{1}",
    "in the line's box": "<span class='l'><span>{0}</span><span>{1}</span></span>",
    "links": "<a id='l{0}' href='#l{0}'>{0}</a>{1}",
    "pseudo text": "<span data-n='{0}'></span>{1}",
}
_BLOCKS = {
    "lines": ("<pre><code class='language-python'>", "\n", "</code></pre>", ""),
    "boxes": ("<pre><div>", "</div><div>", "</div></pre>", "<br>"),
    "items": ("<pre><ol><li>", "</li><li>", "</li></ol></pre>", "<br>"),
    "grid": ("<pre><code style='display:grid'><span>", "</span>\n<span>", "</span></code></pre>", " "),
    "block": ("<code class='x block'>", "\n", "</code>", ""),
    "styled": ("<div style='white-space:pre'>", "\n", "</div>", ""),
    "called code": ("<div class='code-block' data-lang='python'>", "\n", "</div>", ""),
}


def _codes(block: str) -> list[tuple[str, str]]:
    """(language, code) of the blocks of a page with a text around `block`."""
    text = "<p>The scale below the hive tells its weight every hour, and this program reads it from the log.</p>"
    markup = f"<html><body><main><h1>Scales</h1>{text}{block}{text}</main></body></html>"
    return re.findall(r"^```(\w*)\n(.*?)\n```$", content_of(markup), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("block", _BLOCKS)
@pytest.mark.parametrize("numbers", _NUMBERS)
def test_lines_of_code_stay_and_their_numbers_go(numbers: str, block: str) -> None:
    start, between, end, empty = _BLOCKS[block]
    lines = [_NUMBERS[numbers].format(at, line or empty) for at, line in enumerate(_CODE.split("\n"), 1)]
    found = [re.sub(r"(?m) +$", "", code) for _, code in _codes(start + between.join(lines) + end)]
    assert found == ["\n".join(_LINES)]


@pytest.mark.parametrize("code", ["1\n2\n3", "python\nprint(1)", "[\n1,\n2\n]", "7 bees\n9 hives", "$ ls\n3"])
def test_numbers_and_names_that_are_code_stay(code: str) -> None:
    tokens = re.sub(r"(\w+)", r"<span>\1</span>", code)
    lines = "".join(f"<div>{line}</div>" for line in tokens.split("\n"))
    assert _codes(f"<pre>{tokens}</pre>") == _codes(f"<pre>{lines}</pre>") == [("", code)]
