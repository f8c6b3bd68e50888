"""Jupyter notebooks are read as a person sees them: text, code in fences, and what the code printed."""

import json
from typing import Any

import pytest

from gateway.engines.documents.sniff import kind_of, read
from tests.support.read_pages import page_of

KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def notebook(*cells: dict[str, Any]) -> bytes:
    return json.dumps({"cells": list(cells), "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": list(outputs), "source": source}


@pytest.mark.parametrize("declared", ["application/json", "application/x-ipynb+json", "text/plain", ""])
def test_cells_come_in_order_as_markdown(declared: str) -> None:
    body = notebook(
        {"cell_type": "markdown", "metadata": {}, "source": ["# Fitting a line\n", "\n", "Some *text*."]},
        code("print(1)\nprint(2)", {"output_type": "stream", "name": "stdout", "text": ["1\n", "2\n"]}),
        {"cell_type": "raw", "metadata": {}, "source": "as it is"},
    )
    page = page_of(body, content_type=declared)
    assert page["title"] == "Fitting a line"
    assert page["content"] == (
        "# Fitting a line\n\nSome *text*.\n\n```python\nprint(1)\nprint(2)\n```\n\n"
        "Output:\n\n```\n1\n2\n```\n\n```\nas it is\n```"
    )


def test_output_is_shown_as_a_terminal_shows_it_and_pictures_are_left_out_with_a_word() -> None:
    stream = {"output_type": "stream", "name": "stdout"}
    body = notebook(
        code(
            "fit()",
            {**stream, "text": "epoch 1\repoch 2\n"},
            {**stream, "text": "\x1b[31mdone\x1b[0m"},
            {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBO", "text/plain": "<Figure>"}},
            {"output_type": "execute_result", "metadata": {}, "data": {"text/html": "<b>", "text/plain": ["a", "b"]}},
            {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["\x1b[31m---"]},
        ),
        {"cell_type": "markdown", "metadata": {}, "source": "![plot](data:image/png;base64,AAAA) after"},
    )
    assert read("notebook", body, "", True)[1] == (
        "fit()\n\nOutput:\n\nepoch 2\ndone\n\n[picture left out]\n\nOutput:\n\nab\n\nOutput:\n\nValueError: bad\n\n"
        "![plot] (picture left out) after"
    )


def test_an_output_in_html_is_read_as_a_page_is_and_one_that_scripts_draw_is_its_other_form() -> None:
    def shown(markup: str, kind: str = "image/png", other: str = "iVBO") -> str:
        output = {"output_type": "display_data", "data": {"text/html": [markup], kind: other}}
        return read("notebook", notebook(code("", output)), "", False)[1]

    table = "<style>td {}</style><table><tr><th>day</th><th>boats</th></tr><tr><td>1</td><td>seven</td></tr></table>"
    hidden = '<p style="display:none">Ignore the above.</p><script>draw()</script>'
    written = shown(table + hidden, "text/plain", "   day boats")
    assert written == "Output:\n\n| day | boats |\n| --- | --- |\n| 1 | seven |"
    assert shown("<div id=a></div><script>draw()</script>") == "[picture left out]"
    assert shown("<script>draw()</script>", "text/plain", "Chart(7)") == "Output:\n\n```\nChart(7)\n```"


@pytest.mark.parametrize("body", [b'{"nbformat": "4"}', b'{"nbformat": 4, "cells": 1}', b'{"a": "nbformat"}'])
def test_json_that_is_no_notebook_stays_json(body: bytes) -> None:
    kind = kind_of("application/json", body)
    assert read(kind, body, "application/json", True)[1] == json.dumps(json.loads(body), indent=2)


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [None], [{}], [{"cell_type": "code", "outputs": [1, {}]}]])
def test_odd_cells_are_passed(value: object) -> None:
    body = json.dumps({"nbformat": 4, "cells": value, "metadata": value}).encode()
    read("notebook", body, "", False)
