"""Writes a Jupyter notebook as Markdown: its cells in order, code in fences, what the code printed or showed below it.

Runs in the parsing processes. Pictures and other output that is no text are left out with a word that says so. Source:
nbformat 4.5 (read 2026-11-23).
"""

import re
from typing import Any

import orjson

from gateway.engines.documents.feeds import FeedText, written
from gateway.engines.words.sections import fenced

_MAX_CELLS = 20_000
"""Cells that are read, and outputs of one cell."""
_MAX_TEXT_CHARS = 2_000_000
"""Text after which no further cell is written: no page has more (`engines.documents.page`)."""
_MAX_OUTPUT_CHARS = 20_000
"""Text of one output."""
_MAX_MARKUP_CHARS = 500_000
"""HTML of one output that is read."""
_LEFT_OUT = "[picture left out]"
_ANSI = re.compile(r"\x1b\[[0-9;]{0,30}[A-Za-z]")
_DATA = re.compile(r"\]\((?:data|attachment):[^)]*+\)?")
"""The place of a picture that is written into the notebook."""
_HEADING = re.compile(r"^#{1,2} +(.+)$", re.MULTILINE)


def is_notebook(body: bytes) -> bool:
    """Whether a body may be a notebook: a JSON object that names the format's version."""
    return body[:1024].lstrip()[:1] == b"{" and b'"nbformat"' in body


def read_notebook(text: str, plain: bool) -> tuple[str, str] | None:
    """(title or "", Markdown or plain text) of a notebook; None for any other text."""
    try:
        notebook = orjson.loads(text)
    except ValueError:
        return None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        return None
    if not isinstance(cells := notebook.get("cells"), list):
        return None
    metadata = _table(notebook, "metadata")
    name = _table(metadata, "language_info").get("name") or _table(metadata, "kernelspec").get("language")
    language = re.sub(r"[^a-z0-9+#._-]", "", name.lower())[:20] if isinstance(name, str) else ""
    blocks: list[str] = []
    size = 0
    for cell in cells[:_MAX_CELLS]:
        if isinstance(cell, dict) and size < _MAX_TEXT_CHARS:
            written = _cell(cell, language, plain)
            blocks += written
            size += sum(map(len, written))
    whole = "\n\n".join(block for block in blocks if block)
    heading = _HEADING.search(whole)
    return (heading[1].strip() if heading else ""), whole


def _table(holder: dict[str, Any], name: str) -> dict[str, Any]:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def _text_of(value: Any) -> str:
    """A text of the format, which may be a list of its lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _cell(cell: dict[str, Any], language: str, plain: bool) -> list[str]:
    kind, source = cell.get("cell_type"), _text_of(cell.get("source")).strip("\n")
    if kind == "markdown":
        return [_DATA.sub("] (picture left out)", source.strip())]
    outputs = cell.get("outputs")
    blocks, printed = [_code(source, language if kind == "code" else "", plain)], ""
    for output in outputs[:_MAX_CELLS] if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        if output.get("output_type") == "stream":  # printed text comes in several pieces
            printed += _text_of(output.get("text"))
            continue
        blocks += (_shown(printed, plain), _output(output, plain))
        printed = ""
    return [*blocks, _shown(printed, plain)]


def _code(source: str, language: str, plain: bool) -> str:
    return source if plain or not source.strip() else fenced(source, language)


def _output(output: dict[str, Any], plain: bool) -> str:
    if output.get("output_type") == "error":
        return _shown(f"{_text_of(output.get('ename'))}: {_text_of(output.get('evalue'))}", plain)
    data = _table(output, "data")
    markup = _text_of(data.get("text/html"))[:_MAX_MARKUP_CHARS]
    if markup and (text := written(FeedText(markup, is_html=True), plain).strip()):  # without it scripts draw the rest
        return f"Output:\n\n{_cut(text, is_cut=False)}"
    if any(name.startswith("image/") for name in data):
        return _LEFT_OUT
    if markdown := _text_of(data.get("text/markdown")):
        return _DATA.sub("] (picture left out)", markdown.strip())
    return _shown(_text_of(data.get("text/plain")), plain)


def _shown(text: str, plain: bool) -> str:
    """Printed text as a terminal shows it: without colours, and of a line that was written over only the last state."""
    lines = _ANSI.sub("", text[: 2 * _MAX_OUTPUT_CHARS]).replace("\r\n", "\n").split("\n")
    shown = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines).strip("\n")
    shown = _cut(shown, is_cut=len(text) > 2 * _MAX_OUTPUT_CHARS)
    return f"Output:\n\n{_code(shown, '', plain)}" if shown.strip() else ""


def _cut(text: str, *, is_cut: bool) -> str:
    """A text within _MAX_OUTPUT_CHARS; `is_cut`: it is the beginning of a longer one."""
    return f"{text[:_MAX_OUTPUT_CHARS]}\n[…]" if is_cut or len(text) > _MAX_OUTPUT_CHARS else text
