"""`gateway ocr FILE|URL`: reads a document page by page, prints the text, draws the boxes.

The engine runs in this process. URLs are fetched by a function that is handed in, the server's own fetcher, so that the
same rules apply. Knows no command line.
"""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from gateway.access.private_files import naming
from gateway.cli.argument_types import print_json_lines
from gateway.errors import InvalidRequest
from gateway.ocr.image.documents import draw_boxes, open_document
from gateway.ocr.server.engine import OcrEngine
from gateway.ocr.server.report import LOW_CONFIDENCE
from gateway.wire import ocr as wire

MAX_DOCUMENT_BYTES = 200 * 1024 * 1024
"""Largest file or download. Chosen: a scanned book of some hundred pages; the bytes are held in memory. At half, such
books must be split; at double, a machine with 1 GB of memory may run out of it."""
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
