"""Code of a page is read as it runs, however its lines, their numbers and what stands around them are marked."""

import re

import pytest

from tests.support.read_pages import content_of

_LINES = ["def weigh(hive):", "    total = [1, 2, 3]", "", "    return total", "print(weigh(7))"]
_CODE = "\n".join(_LINES).replace("3", "<b class=n>3</b>")
_COUNT = "\n".join(str(at + 1) for at in range(len(_LINES)))
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


_ROWS = "".join(f"<tr><td>{at}<td><pre>{line}</pre>" for at, line in enumerate(_LINES, 1))


@pytest.mark.parametrize(
    "block",
    [
        f"<table><tr><td><pre>{_COUNT}</pre><td><pre>{_CODE}</pre></table>",
        f"<table>{_ROWS}</table>",
        f"<pre><div class=a>{_COUNT}\n</div><div class=b>{_CODE}</div></pre>",
        f"<pre><div>{_COUNT.replace(chr(10), '<br>')}</div><code>{_CODE}</code></pre>",
        f"<pre><div class=bar>weigh.py</div><code>{_CODE}</code></pre>",
        f"<pre><code>{_CODE}</code><div role=tooltip>Copied!</div></pre>",
        f"<pre><button>Copy</button><code>{_CODE}<span class=tooltip>Copied</span></code></pre>",
    ],
)
def test_gutters_bars_and_tooltips_are_no_code(block: str) -> None:
    assert [code for _, code in _codes(block)] == ["\n".join(_LINES)]


@pytest.mark.parametrize(
    "block",
    [
        f"<pre><div>Python</div><code>{_CODE}</code></pre>",
        f"<pre><code><div><span>python</span><button>Copy</button></div><div>{_CODE}</div></code></pre>",
        f"<figure class='highlight python'><table><tr><td><pre>{_COUNT}</pre><td><pre>{_CODE}</pre></table></figure>",
        f"<pre language='python'>{_CODE}</pre>",
        f"<pre><code class='hljs language-python' style='white-space:pre'>{_CODE}</code></pre>",
    ],
)
def test_the_language_of_code_is_told_from_its_box_or_its_bar(block: str) -> None:
    assert _codes(block) == [("python", "\n".join(_LINES))]


@pytest.mark.parametrize("code", ["1\n2\n3", "python\nprint(1)", "[\n1,\n2\n]", "7 bees\n9 hives", "$ ls\n3"])
def test_numbers_and_names_that_are_code_stay(code: str) -> None:
    tokens = re.sub(r"(\w+)", r"<span>\1</span>", code)
    lines = "".join(f"<div>{line}</div>" for line in tokens.split("\n"))
    assert _codes(f"<pre>{tokens}</pre>") == _codes(f"<pre>{lines}</pre>") == [("", code)]
