"""`gateway ocr`: reads images, TIFFs and PDFs, prints the text of one or writes a file for each of many (`--out`).

The engine runs in this process. URLs are fetched as the server fetches them, by the same rules. A page or a document
that fails is reported and does not stop the rest.
"""

import argparse
import asyncio
import csv
import html
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO

import orjson

from gateway.access.inside_folder import inside, replace_inside
from gateway.access.private_files import naming
from gateway.app.web_engine import open_fetcher
from gateway.cli.options import (
    Parsers,
    add_json_option,
    add_state_options,
    page_range,
    print_json_lines,
    progress_on,
    say,
)
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.domain import Json
from gateway.errors import GatewayError, InvalidRequest
from gateway.ocr.image.documents import Document, SearchablePdf, draw_boxes, open_document
from gateway.ocr.server.engine import OcrEngine
from gateway.ocr.server.report import LOW_CONFIDENCE
from gateway.wire import ocr as wire

MAX_DOCUMENT_BYTES = 200 * 1024 * 1024
"""Largest file or download."""
FORMATS = ("md", "txt", "json", "csv", "pdf")
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".pdf")
"""Files that are taken from a folder; a file that is named is read whatever its name."""
SOME_FAILED = 3
"""Exit code when some documents could not be read or written."""
_MARKDOWN = wire.build_prompt(wire.CUSTOM, text="Convert the document to markdown.")
_OF_ONE_DOCUMENT = ("mode", "prompt", "grounding", "find", "overlay")
"""Options that say how one document is printed."""


def add_commands(parsers: Parsers) -> None:
    """Add `ocr`."""
    read = parsers.add_parser("ocr")
    read.add_argument("sources", metavar="FILE|DIR|URL", nargs="+", help="several, or a folder, need --out")
    read.add_argument("--out", type=Path, metavar="DIR", help="write a file for each document")
    read.add_argument("--format", choices=FORMATS, help="of the files in --out (default md)")
    read.add_argument("--pages", type=page_range, metavar="3-7", help="of PDFs and TIFFs")
    read.add_argument("--mode", default="", choices=("markdown", "free", "locate", "describe", "custom"))
    read.add_argument("--prompt", default="", help="for mode custom")
    read.add_argument("--grounding", action="store_true", help="custom: with boxes")
    read.add_argument("--find", default="", metavar="TEXT", help="for mode locate")
    read.add_argument("--overlay", type=Path, metavar="OUT.png", help="draw the boxes on the image")
    add_json_option(read)
    add_state_options(read)
    read.set_defaults(command=_ocr)


def _ocr(arguments: argparse.Namespace, environment: Environment) -> int:
    sources: list[str] = arguments.sources
    if arguments.out is not None:
        if arguments.json:
            raise InvalidRequest("--json prints one document; for files in --out use --format json")
        if idle := [name for name in _OF_ONE_DOCUMENT if getattr(arguments, name)]:
            raise InvalidRequest(f"--{idle[0]} is for one document that is printed, not for files in --out")
        batch = BatchOptions(tuple(sources), arguments.out, arguments.format or "md", arguments.pages)
        with closing(OcrEngine(os.cpu_count() or 1)) as engine:
            engine.load()
            return run_batch(batch, engine, MAX_DOCUMENT_BYTES)
    if len(sources) > 1 or Path(sources[0]).is_dir():
        raise InvalidRequest("several documents need --out DIR, where their texts are written")
    if arguments.format is not None:
        raise InvalidRequest("--format is for files in --out DIR; without it a text is printed, with --json as JSON")
    names = ("mode", "prompt", "grounding", "find", "overlay", "pages")
    options = OcrOptions(**{name: getattr(arguments, name) for name in names}, as_json=arguments.json)
    return run(_source(arguments, environment), options)


@dataclass(frozen=True, slots=True)
class OcrOptions:
    """How one document is printed. `mode`: a name of `wire.ocr.MODES`; by default `locate` with `find`, `custom` with
    `prompt`, else `markdown`. `grounding`: ask for boxes in mode custom. `overlay`: the picture to draw boxes on.
    `pages`: first and last, None for all. `as_json`: a line of JSON for each page."""

    mode: str = ""
    prompt: str = ""
    grounding: bool = False
    find: str = ""
    overlay: Path | None = None
    pages: tuple[int, int] | None = None
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """`sources`: files and folders; `out`: the folder for the results; `pages`: first and last, None for all."""

    sources: tuple[str, ...]
    out: Path
    format: str = "md"
    pages: tuple[int, int] | None = None


class Engine(Protocol):
    """What `OcrEngine` does."""

    def answer(self, data: bytes, prompt: str) -> Iterator[str]:
        """Pieces of the text of one picture."""
        ...

    def report(self, *, details: bool = False) -> Json:
        """What is known about the last answer."""
        ...


@dataclass(frozen=True, slots=True)
class _ReadPage:
    """A page that was read, or the `error` why it was not."""

    number: int
    data: bytes
    text: str
    report: Json
    error: str = ""


def _source(arguments: argparse.Namespace, environment: Environment) -> bytes:
    """The bytes of the path or http(s) URL. Raises InvalidRequest when the file is missing or too large, or the URL is
    refused."""
    source: str = arguments.sources[0]
    if source.lower().startswith(("http://", "https://")):
        config = load_config(arguments.config, arguments.state_dir, environment, needs_secrets=False)

        async def fetch() -> bytes:
            async with open_fetcher(config) as fetcher:
                return await fetcher.fetch_image(source, MAX_DOCUMENT_BYTES)

        return asyncio.run(fetch())
    path = Path(source)
    if not path.is_file():
        raise InvalidRequest(f"there is no file {source}; what can be read: {', '.join(SUFFIXES)}, or a URL")
    if path.stat().st_size > MAX_DOCUMENT_BYTES:
        raise InvalidRequest(f"{source} is too large; the limit is {MAX_DOCUMENT_BYTES >> 20} MiB")
    return path.read_bytes()


def prompt_of(options: OcrOptions) -> str:
    """The prompt for these options. Raises InvalidRequest for options that contradict each other."""
    name = options.mode or ("locate" if options.find else "custom" if options.prompt else "markdown")
    mode = wire.mode_named(name)
    if mode is None:
        names = ", ".join(mode.name for mode in wire.MODES)
        raise InvalidRequest(f"there is no mode {name!r}; choose one of {names}")
    if mode is wire.LOCATE and not options.find:
        raise InvalidRequest("mode locate needs --find TEXT")
    if mode is wire.CUSTOM and not options.prompt and not options.grounding:
        raise InvalidRequest("mode custom needs --prompt TEXT or --grounding")
    for option, is_given, modes in (
        ("--find", options.find, (wire.LOCATE,)),
        ("--prompt", options.prompt, (wire.CUSTOM,)),
        ("--grounding", options.grounding, (wire.CUSTOM, wire.MARKDOWN)),
    ):
        if is_given and mode not in modes:
            raise InvalidRequest(f"{option} is for mode {modes[0].name}, not for {mode.name}")
    return wire.build_prompt(mode, text=options.find or options.prompt, grounding=options.grounding)


def run(data: bytes, options: OcrOptions, out: TextIO = sys.stdout, notes: TextIO = sys.stderr) -> int:
    """Read every page of a document (an image, TIFF or PDF), print its text as it comes, draw overlays.

    The exit code: 0, or 1 when a page failed; the other pages are read all the same. Raises InvalidRequest for options
    or data that cannot be used, EngineMissing without the OCR extra.
    """
    prompt = prompt_of(options)
    document = open_document(data, options.pages)
    failed = 0
    with closing(OcrEngine(os.cpu_count() or 1)) as engine:
        for page in _read(document, engine, prompt, notes, None if options.as_json else out):
            if options.as_json:
                told = {"error": page.error} if page.error else {"text": page.text, "ocr": page.report}
                print_json_lines([{"page": page.number, **told}], out)
            _tell(page, notes)
            failed |= bool(page.error)
            if options.overlay is not None and not page.error:
                unsure = [line["box"] for line in page.report["lines"] if line["confidence"] < LOW_CONFIDENCE]
                target = options.overlay
                if document.page_count > 1:
                    target = target.with_name(f"{target.stem}-{page.number}{target.suffix or '.png'}")
                with naming(target):
                    target.write_bytes(draw_boxes(page.data, page.text, unsure))
                say(f"boxes drawn on {target}\n", notes)
    return failed


def _read(
    document: Document, engine: Engine, prompt: str, notes: TextIO, out: TextIO | None = None
) -> Iterator[_ReadPage]:
    """Every page; its text is written to `out` as it comes. A bar on `notes`, where that is a terminal."""
    count = document.page_count
    for number, data in enumerate(document.pages, document.first):
        progress = progress_on(notes)
        if count > 1:
            progress.step(number - document.first, count, f"page {number} of {document.total}")
        if out is not None and count > 1:
            say(f"{'' if number == document.first else chr(10)}--- page {number} of {document.total} ---\n", out)
        pieces = []
        try:
            for piece in engine.answer(data, prompt):
                pieces.append(piece)
                if out is not None:
                    say(piece, out)
                    out.flush()
            page = _ReadPage(number, data, "".join(pieces), engine.report(details=True))
        except InvalidRequest as error:
            page = _ReadPage(number, b"", "", {}, error.message)
        if out is not None:
            say("\n", out)
        if count > 1:
            progress.step(count, count, "")
        yield page


def _tell(page: _ReadPage, notes: TextIO, indent: str = "") -> None:
    """Why the page failed, or what is doubtful of it."""
    if page.error:
        say(f"{indent}page {page.number} failed: {page.error}\n", notes)
    for warning in page.report.get("warnings", ()):
        say(f"{indent}page {page.number}: {warning}\n", notes)
    for word in page.report.get(wire.UNCERTAIN, ()):
        alternatives = " or ".join(word["alternatives"])
        say(f"{indent}page {page.number}: uncertain: {word['text']} may be {alternatives}\n", notes)


def run_batch(options: BatchOptions, engine: Engine, limit_bytes: int, notes: TextIO = sys.stderr) -> int:
    """Reads every document. 0, or SOME_FAILED. Raises InvalidRequest where there is nothing to read or no place to
    write."""
    documents = list(_documents(options.sources, options.out))
    if not documents:
        raise InvalidRequest(f"there is nothing to read; these files can be read: {', '.join(SUFFIXES)}")
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidRequest(f"cannot write to {options.out}: {error.strerror}") from None
    failed = without_table = 0
    for number, (path, name, folder) in enumerate(documents, 1):
        say(f"[{number}/{len(documents)}] {path}\n", notes)
        notes.flush()
        try:
            file = path if folder is None else inside(folder, path)
            if file.stat().st_size > limit_bytes:
                raise InvalidRequest(f"the file is too large; the limit is {limit_bytes >> 20} MiB")
            prompt = wire.FREE.prompt if options.format == "txt" else _MARKDOWN
            pages = list(_read(open_document(file.read_bytes(), options.pages), engine, prompt, notes))
            read = [page for page in pages if not page.error]
            if not read:
                raise InvalidRequest(pages[0].error)
            for page in pages:
                _tell(page, notes, "  ")
            is_failed = len(read) < len(pages)
            if not _write(read, options.out, options.out / name, path.name, options.format):
                say("  no table was found, so nothing was written\n", notes)
                without_table += not is_failed
            failed += is_failed
        except GatewayError as error:
            say(f"  failed: {error.message}\n", notes)
            failed += 1
        except OSError as error:
            about = "" if error.filename in (None, str(path)) else f"{error.filename}: "
            say(f"  failed: {about}{error.strerror}\n", notes)
            failed += 1
    written = len(documents) - failed - without_table
    say(f"{written} of {len(documents)} documents were read into {options.out}", notes)
    say(f"; {without_table} without a table gave no file\n" if without_table else "\n", notes)
    return SOME_FAILED if failed else 0


def _documents(sources: Iterable[str], out: Path) -> Iterator[tuple[Path, Path, Path | None]]:
    """(path, name of its results below the folder, without suffix, the source that is a folder); two of the same name
    get a number. Results of an earlier run, where `out` is inside a folder that is read, are left out."""
    taken: set[Path] = set()
    for source in map(Path, sources):
        paths = sorted(path for path in source.rglob("*") if path.suffix.lower() in SUFFIXES) if source.is_dir() else []
        if out.resolve() != source.resolve():
            paths = [path for path in paths if out.resolve() not in path.resolve().parents]
        for path in paths or ([] if source.is_dir() else [source]):
            name = path.relative_to(source).with_suffix("") if source.is_dir() else Path(path.stem)
            unique, number = name, 2
            while unique in taken:
                unique, number = name.with_name(f"{name.name}-{number}"), number + 1
            taken.add(unique)
            yield path, unique, source if source.is_dir() else None


def _write(pages: list[_ReadPage], folder: Path, base: Path, source: str, format_: str) -> bool:
    """Whether there was anything to write."""
    files = _tables(pages, base) if format_ == "csv" else {f"{base.name}.{format_}": _content(pages, source, format_)}
    for name, content in files.items():
        target = base.with_name(name)
        with naming(target):
            replace_inside(folder, target, content)
    return bool(files)


def _tables(pages: list[_ReadPage], base: Path) -> dict[str, bytes]:
    """Name -> content of a CSV file for each table."""
    files = {}
    for page in pages:
        for number, rows in enumerate(tables_in_markdown(page.text), 1):
            out = io.StringIO()
            csv.writer(out).writerows(rows)
            files[f"{base.name}-page{page.number}-table{number}.csv"] = out.getvalue().encode()
    return files


def _content(pages: list[_ReadPage], source: str, format_: str) -> bytes:
    if format_ == "pdf":
        pdf = SearchablePdf()
        for page in pages:
            pdf.add(page.data, page.report["lines"])
        return pdf.whole()
    if format_ == "json":
        listed = [{"page": page.number, "text": page.text, "ocr": _numbered(page)} for page in pages]
        return orjson.dumps({"file": source, "pages": listed}, option=orjson.OPT_INDENT_2)
    if format_ == "txt":
        return ("\f".join(page.text + "\n" for page in pages)).encode()
    marks = (f"<!-- page {page.number} -->\n\n" if len(pages) > 1 else "" for page in pages)
    return "\n\n".join(mark + page.text for mark, page in zip(marks, pages, strict=True)).encode() + b"\n"


def _numbered(page: _ReadPage) -> Json:
    return {**page.report, "lines": [{**line, "page": page.number} for line in page.report["lines"]]}


_SPAN = re.compile(r'(row|col)span="(\d{1,3})"')


def tables_in_markdown(text: str) -> list[list[list[str]]]:
    """The tables of an answer, which `ocr.server.report.html_table` writes, as rows of texts. A merged cell's text is
    in its first place: `<tr><td colspan="2">a</td></tr>` -> `[["a", ""]]`."""
    return [_grid(inside) for inside in _between(text, "<table>", "</table>")]


def _between(text: str, start: str, end: str) -> list[str]:
    return [each.partition(end)[0] for each in text.split(start)[1:] if end in each]


def _grid(table: str) -> list[list[str]]:
    rows: list[list[str]] = []
    below: dict[int, int] = {}  # column -> rows that a cell above still covers

    def fill(row: list[str]) -> None:
        while below.get(len(row), 0) > 0:
            below[len(row)] -= 1
            row.append("")

    for row_html in _between(table, "<tr>", "</tr>"):
        row: list[str] = []
        for cell in _between(row_html, "<td", "</td>"):
            attributes, _, content = cell.partition(">")
            fill(row)
            spans = {name: int(count) for name, count in _SPAN.findall(attributes)}
            for text in (html.unescape(content), *[""] * (spans.get("col", 1) - 1)):
                below[len(row)] = spans.get("row", 1) - 1
                row.append(text)
        fill(row)
        rows.append(row)
    return rows
