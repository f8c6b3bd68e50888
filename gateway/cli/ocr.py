"""`gateway ocr FILE|URL`: reads a document page by page, prints the text, draws the boxes.

The engine runs in this process. URLs are fetched by a function that is handed in, the server's own fetcher, so that the
same rules apply.

`gateway ocr FILE|DIR… --out DIR`: reads many documents into files, one format for all.

A document that fails is told and does not stop the rest. The engine runs in this process.
"""

import asyncio
import csv
import io
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Protocol, TextIO

import orjson

from gateway.access.private_files import naming
from gateway.cli.options import print_json_lines
from gateway.domain import Json
from gateway.errors import GatewayError, InvalidRequest
from gateway.ocr.image.documents import SearchablePdf, draw_boxes, open_document
from gateway.ocr.server.engine import OcrEngine
from gateway.ocr.server.report import LOW_CONFIDENCE
from gateway.wire import ocr as wire

MAX_DOCUMENT_BYTES = 200 * 1024 * 1024
"""Largest file or download."""
BAR_WIDTH = 24
"""Characters of the progress bar."""


@dataclass(frozen=True, slots=True)
class OcrOptions:
    """What to read and how.

    `source`: a path or an http(s) URL. `mode`: a name of `wire.ocr.MODES`; by default `locate` with `find`, `custom`
    with `prompt`, else `markdown`. `as_json`: a line of JSON for each page. `grounding`: ask for boxes in mode
    custom. `overlay`: the picture to draw boxes on.
    `threads`: 0 = all cores. `pages`: first and last, None for all.
    """

    source: str
    mode: str = ""
    prompt: str = ""
    grounding: bool = False
    find: str = ""
    overlay: Path | None = None
    threads: int = 0
    pages: tuple[int, int] | None = None
    as_json: bool = False


Fetch = Callable[[str, int], Awaitable[bytes]]
"""(URL, most bytes) -> the document. Raises InvalidRequest."""


async def read_source(source: str, fetch: Fetch) -> bytes:
    """The document's bytes. Raises InvalidRequest when the file is missing or too large, or the URL is refused."""
    if source.lower().startswith(("http://", "https://")):
        return await fetch(source, MAX_DOCUMENT_BYTES)
    return await asyncio.to_thread(_read_file, source)


def _read_file(source: str) -> bytes:
    path = Path(source)
    if not path.is_file():
        raise InvalidRequest(f"there is no file {source}")
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
    engine = OcrEngine(options.threads or os.cpu_count() or 1)
    failed = 0
    try:
        for number, page in enumerate(document.pages, document.first):
            if document.page_count > 1:
                show_progress(notes, number - document.first + 1, document.page_count)
            if document.page_count > 1 and not options.as_json:
                out.write(f"{'' if number == document.first else chr(10)}--- page {number} of {document.total} ---\n")
            try:
                text = _read_page(engine, page, prompt, None if options.as_json else out)
            except InvalidRequest as error:
                notes.write(f"\npage {number}: {error.message}\n")
                if options.as_json:
                    print_json_lines([{"page": number, "error": error.message}], out)
                failed = 1
                continue
            if options.as_json:
                print_json_lines([{"page": number, "text": text, "ocr": engine.report(details=True)}], out)
            report = engine.report()
            for warning in report["warnings"]:
                notes.write(f"page {number}: {warning}\n")
            for word in report.get(wire.UNCERTAIN, ()):
                notes.write(f"page {number}: uncertain: {word['text']} may be {' or '.join(word['alternatives'])}\n")
            if options.overlay is not None:
                lines = engine.report(details=True)["lines"]
                unsure = [line["box"] for line in lines if line["confidence"] < LOW_CONFIDENCE]
                drawn = draw_boxes(page, text, unsure)
                _write_overlay(options.overlay, number, document.page_count, drawn, notes)
    finally:
        engine.close()
    return failed


def _read_page(engine: OcrEngine, page: bytes, prompt: str, out: TextIO | None) -> str:
    """The page's text, which is written to `out` as it comes."""
    pieces = []
    for piece in engine.answer(page, prompt):
        pieces.append(piece)
        if out is not None:
            out.write(piece)
            out.flush()
    if out is not None:
        out.write("\n")
    return "".join(pieces)


def _write_overlay(path: Path, number: int, count: int, picture: bytes, notes: TextIO) -> None:
    """Write `out.png`, or `out-2.png` for page 2 of several."""
    target = path if count == 1 else path.with_name(f"{path.stem}-{number}{path.suffix or '.png'}")
    with naming(target):
        target.write_bytes(picture)
    notes.write(f"{'' if count == 1 else chr(10)}boxes drawn on {target}\n")


def show_progress(notes: TextIO, number: int, count: int) -> None:
    """Draws the bar of a document's pages over itself; only on a terminal."""
    if not notes.isatty():
        return
    done = round(BAR_WIDTH * (number - 1) / count)
    clock = time.strftime("%H:%M:%S")
    notes.write(f"\r[{'#' * done}{'.' * (BAR_WIDTH - done)}] page {number} of {count} ({clock})")
    notes.flush()


def end_progress(notes: TextIO) -> None:
    """Removes the bar, so that what is written next starts a line."""
    if notes.isatty():
        notes.write("\r\x1b[K")
        notes.flush()


FORMATS = ("md", "txt", "json", "csv", "pdf")
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".pdf")
"""Files that are taken from a folder; a file that is named is read whatever its name."""
SOME_FAILED = 3
"""Exit code when some documents could not be read or written."""
_MARKDOWN = wire.build_prompt(wire.CUSTOM, text="Convert the document to markdown.")


class Engine(Protocol):
    """What `OcrEngine` does."""

    def answer(self, data: bytes, prompt: str) -> Iterator[str]:
        """Pieces of the text of one picture."""
        ...

    def report(self, *, details: bool = False) -> Json:
        """What is known about the last answer."""
        ...


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """`sources`: files and folders; `out`: the folder for the results; `pages`: first and last, None for all."""

    sources: tuple[str, ...]
    out: Path
    format: str = "md"
    pages: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Page:
    number: int
    data: bytes
    text: str
    report: Json
    error: str = ""


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
    for number, (path, name) in enumerate(documents, 1):
        notes.write(f"[{number}/{len(documents)}] {path}\n")
        notes.flush()
        try:
            if path.stat().st_size > limit_bytes:
                raise InvalidRequest(f"the file is too large; the limit is {limit_bytes >> 20} MiB")
            pages = list(_read(path.read_bytes(), options, engine, notes))
            read = [page for page in pages if not page.error]
            if not read:
                raise InvalidRequest(pages[0].error)
            _tell_doubts(pages, notes)
            is_failed = len(read) < len(pages)
            if not _write(read, options.out / name, path.name, options.format):
                notes.write("  no table was found, so nothing was written\n")
                without_table += not is_failed
            failed += is_failed
        except GatewayError as error:
            notes.write(f"  failed: {error.message}\n")
            failed += 1
        except OSError as error:
            about = "" if error.filename in (None, str(path)) else f"{error.filename}: "
            notes.write(f"  failed: {about}{error.strerror}\n")
            failed += 1
    written = len(documents) - failed - without_table
    notes.write(f"{written} of {len(documents)} documents were read into {options.out}")
    notes.write(f"; {without_table} without a table gave no file\n" if without_table else "\n")
    return SOME_FAILED if failed else 0


def _documents(sources: Iterable[str], out: Path) -> Iterator[tuple[Path, Path]]:
    """(path, name of its results below the folder, without suffix); two of the same name get a number. Results of an
    earlier run, where `out` is inside a folder that is read, are left out."""
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
            yield path, unique


def _read(data: bytes, options: BatchOptions, engine: Engine, notes: TextIO) -> Iterator[_Page]:
    prompt = wire.FREE.prompt if options.format == "txt" else _MARKDOWN
    document = open_document(data, options.pages)
    try:
        for number, page in enumerate(document.pages, document.first):
            if document.page_count > 1:
                show_progress(notes, number - document.first + 1, document.page_count)
            try:
                text = "".join(engine.answer(page, prompt))
            except InvalidRequest as error:
                yield _Page(number, b"", "", {}, error.message)
                continue
            kept = page if options.format == "pdf" else b""
            yield _Page(number, kept, text, engine.report(details=True))
    finally:
        end_progress(notes)


def _tell_doubts(pages: list[_Page], notes: TextIO) -> None:
    for page in pages:
        if page.error:
            notes.write(f"  page {page.number} failed: {page.error}\n")
        for warning in page.report.get("warnings", ()):
            notes.write(f"  page {page.number}: {warning}\n")


def _write(pages: list[_Page], base: Path, source: str, format_: str) -> bool:
    """Whether there was anything to write."""
    base.parent.mkdir(parents=True, exist_ok=True)
    if format_ == "csv":
        tables = [(page, tables_in_markdown(page.text)) for page in pages]
        for page, found in tables:
            for number, rows in enumerate(found, 1):
                out = io.StringIO()
                csv.writer(out).writerows(rows)
                target = base.with_name(f"{base.name}-page{page.number}-table{number}.csv")
                with naming(target):
                    target.write_text(out.getvalue(), encoding="utf-8", newline="")
        return any(found for _, found in tables)
    target = base.with_name(f"{base.name}.{format_}")
    with naming(target):
        target.write_bytes(_content(pages, source, format_))
    return True


def _content(pages: list[_Page], source: str, format_: str) -> bytes:
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


def _numbered(page: _Page) -> Json:
    return {**page.report, "lines": [{**line, "page": page.number} for line in page.report["lines"]]}


def tables_in_markdown(text: str) -> list[list[list[str]]]:
    """The `<table>` elements of an answer as rows of texts; a merged cell's text is in its first place."""
    parser = _Tables()
    parser.feed(text)
    return parser.tables


class _Tables(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self._in_cell = False
        self._below: dict[int, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        if tag == "table":
            self.tables.append([])
            self._below = {}
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag == "td" and self.tables and self.tables[-1]:
            self._in_cell = True
            self._begin_cell({name: int(value) for name, value in attrs if str(value).isdigit()})

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self._in_cell = False
        elif tag == "tr" and self.tables and self.tables[-1]:
            self._reach_down()

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            row = self.tables[-1][-1]
            row[self._place] += data

    def _begin_cell(self, spans: dict[str, int]) -> None:
        """Appends the cell, after blanks where cells from rows above reach down, and blanks for its other columns."""
        row = self._reach_down()
        self._place = len(row)
        for _ in range(spans.get("colspan", 1)):
            self._below[len(row)] = spans.get("rowspan", 1) - 1
            row.append("")

    def _reach_down(self) -> list[str]:
        """The row, with blanks for the cells from rows above that reach down here."""
        row = self.tables[-1][-1]
        while self._below.get(len(row), 0) > 0:
            self._below[len(row)] -= 1
            row.append("")
        return row
