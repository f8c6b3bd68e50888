"""Writes a Jupyter notebook as Markdown: its cells in order, code in fences, what the code printed below it.

Runs in the parsing processes. Pictures and other output that is no text are left out with a word that says so. Source:
nbformat 4.5 and 3 (read 2026-11-23).
"""

import re
from typing import Any

import orjson

from gateway.engines.answer.sections import fenced

_MAX_CELLS = 20_000
"""Cells that are read, and outputs of one cell. Chosen: long courses have some hundred; double only costs time."""
_MAX_TEXT_CHARS = 2_000_000
"""Text after which no further cell is written: no page has more (`engines.documents.page`)."""
_MAX_OUTPUT_CHARS = 20_000
"""Text of one output. Chosen: a long table. At half tables are cut, at double logs of training fill the page."""
_LEFT_OUT = "[picture left out]"
_ANSI = re.compile(r"\x1b\[[0-9;]{0,30}[A-Za-z]")
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
    cells = _cells_of(notebook)
    if cells is None:
        return None
    language = _language_of(notebook.get("metadata"))
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


def _cells_of(notebook: Any) -> list[Any] | None:
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        return None
    sheets = notebook.get("worksheets")
    if isinstance(sheets, list):  # nbformat 3
        found: list[Any] = []
        for sheet in sheets:
            cells = sheet.get("cells") if isinstance(sheet, dict) else None
            found += cells if isinstance(cells, list) else []
        return found
    cells = notebook.get("cells")
    return cells if isinstance(cells, list) else None


def _language_of(metadata: Any) -> str:
    """The language of the notebook's code, in the letters that a fence may name."""
    for part in ("language_info", "kernelspec"):
        table = metadata.get(part) if isinstance(metadata, dict) else None
        name = table.get("name" if part == "language_info" else "language") if isinstance(table, dict) else None
        if isinstance(name, str) and name:
            return re.sub(r"[^a-z0-9+#._-]", "", name.lower())[:20]
    return ""


def _text_of(value: Any) -> str:
    """A text of the format, which may be a list of its lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _cell(cell: dict[str, Any], language: str, plain: bool) -> list[str]:
    kind = cell.get("cell_type")
    source = _text_of(cell.get("source", cell.get("input"))).strip("\n")
    if kind == "code":
        blocks = [_code(source, language, plain)]
        outputs = cell.get("outputs")
        for output in _joined(outputs[:_MAX_CELLS] if isinstance(outputs, list) else []):
            blocks.append(_output(output, plain))
        return blocks
    if kind == "heading":  # nbformat 3
        level = cell.get("level")
        marks = "" if plain else "#" * (level if isinstance(level, int) and 0 < level < 7 else 1) + " "
        return [marks + " ".join(source.split())]
    return [_without_data(source.strip()) if kind == "markdown" else _code(source, "", plain)]


def _code(source: str, language: str, plain: bool) -> str:
    return source if plain or not source.strip() else fenced(source, language)


def _joined(outputs: list[Any]) -> list[dict[str, Any]]:
    """The outputs; printed text that comes in several pieces is one."""
    found: list[dict[str, Any]] = []
    for output in outputs:
        if not isinstance(output, dict):
            continue
        if output.get("output_type") == "stream":
            if found and found[-1].get("output_type") == "stream":
                found[-1]["pieces"].append(_text_of(output.get("text")))
                continue
            output = {"output_type": "stream", "pieces": [_text_of(output.get("text"))]}
        found.append(output)
    return found


def _output(output: dict[str, Any], plain: bool) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return _shown("".join(output["pieces"]), plain)
    if kind in ("error", "pyerr"):
        return _shown(f"{_text_of(output.get('ename'))}: {_text_of(output.get('evalue'))}", plain)
    found = output.get("data", output)  # nbformat 3 has the texts beside the type
    data = found if isinstance(found, dict) else {}
    if any(name.startswith("image/") or name in ("png", "jpeg", "svg") for name in data):
        return _LEFT_OUT
    if markdown := _text_of(data.get("text/markdown")):
        return _without_data(markdown.strip())
    return _shown(_text_of(data.get("text/plain", data.get("text"))), plain)


def _shown(text: str, plain: bool) -> str:
    """Printed text as a terminal shows it: without colours, and of a line that was written over only the last state."""
    lines = _ANSI.sub("", text[: 2 * _MAX_OUTPUT_CHARS]).replace("\r\n", "\n").split("\n")
    shown = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines).strip("\n")
    if len(shown) > _MAX_OUTPUT_CHARS or len(text) > 2 * _MAX_OUTPUT_CHARS:
        shown = f"{shown[:_MAX_OUTPUT_CHARS]}\n[…]"
    return f"Output:\n\n{_code(shown, '', plain)}" if shown.strip() else ""


def _without_data(markdown: str) -> str:
    """Markdown whose pictures are not written into it as data or attachments."""
    for scheme in ("](data:", "](attachment:"):
        pieces: list[str] = []
        at = 0
        while (start := markdown.find(scheme, at)) >= 0:
            end = markdown.find(")", start)
            if end < 0:
                break
            pieces += (markdown[at:start], "] (picture left out)")
            at = end + 1
        markdown = "".join(pieces) + markdown[at:]
    return markdown
