"""Commands that work without a running server: search index, sanitizer, OCR. Prints for people.

Knows no command line: `main` hands in the configuration and the arguments. Every command returns its exit code.
"""

import asyncio
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from gateway.app.web_tools import open_copy, open_fetcher, open_index
from gateway.cli import ocr as ocr_command
from gateway.cli.argument_types import print_json_lines
from gateway.cli.ocr_batch import BatchOptions, run_batch
from gateway.config.settings import Config
from gateway.domain import Json, Progress
from gateway.engines.index.port import copy_pages
from gateway.errors import InvalidRequest
from gateway.ocr.server.engine import OcrEngine
from gateway.sanitize.report import explain, preview

_BAR_WIDTH = 24
"""Characters of a progress bar."""


def index_add(config: Config, source: str, limit: int, depth: str, *, as_json: bool = False) -> int:
    """`gateway index add`: read a site or a folder into the index, a site's pages to this `depth`. 0 when at least one
    page was added, else 1."""

    async def run() -> Json:
        async with open_index(config) as filler:
            return await filler.add(source, limit, progress_on(sys.stderr), depth)

    answer = asyncio.run(run())
    if as_json:
        print_json_lines([answer])
        return 0 if answer["added"] else 1
    for failure in answer["failed"]:
        sys.stderr.write(f"not read: {failure['url']}: {failure['error']}\n")
    if "note" in answer:
        sys.stderr.write(f"{answer['note']}\n")
    sys.stdout.write(f"{answer['added']} pages added\n")
    return 0 if answer["added"] else 1


def index_remove(config: Config, url: str, *, as_json: bool = False) -> int:
    """`gateway index remove`: drop a page, or all below a URL or folder. 0 when there was at least one, else 1."""

    async def run() -> int:
        async with open_index(config) as filler:
            return await filler.remove(url)

    count = asyncio.run(run())
    if as_json:
        print_json_lines([{"removed": count}])
    else:
        sys.stdout.write(f"{count} pages removed\n")
    return 0 if count else 1


def index_stats(config: Config, *, as_json: bool = False) -> int:
    """`gateway index stats`: print size and age of the index, a line for each value, or one of JSON in which times are
    unix seconds. Always 0."""

    async def run() -> Json:
        async with open_index(config) as filler:
            return await filler.stats()

    stats = asyncio.run(run())
    if as_json:
        print_json_lines([stats])
        return 0
    vectors = stats.pop("vectors", None) or {}
    for name, value in (stats | {f"vectors {name}": value for name, value in vectors.items()}).items():
        if name in ("oldest", "newest") and value is not None:
            value = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(value))
        sys.stdout.write(f"{name:20} {'-' if value is None else value}\n")
    return 0


def index_copy(config: Config, backend: str, *, as_json: bool = False) -> int:
    """`gateway index copy --to BACKEND`: copy all pages from the other backend. 0, also for an empty index.

    Raises GatewayError, OSError.
    """

    async def run() -> int:
        async with open_copy(config, backend) as (source, target):
            return await copy_pages(source, target, progress_on(sys.stderr))

    copied = asyncio.run(run())
    if as_json:
        print_json_lines([{"copied": copied, "to": backend}])
    else:
        sys.stdout.write(f"{copied} pages copied to {backend}\n")
    return 0


@dataclass(frozen=True, slots=True)
class SanitizeForm:
    """How `gateway sanitize` answers: `is_check`: by its exit code too; `as_json`: for a program."""

    is_check: bool = False
    as_json: bool = False


def sanitize(config: Config, source: str, profile: str | None, form: SanitizeForm = SanitizeForm()) -> int:
    """`gateway sanitize [FILE|-]`: print what the sanitizer finds in a text. `profile` overrides the configured one.

    0; with `is_check` 1 if a value would be masked or refused in a request. Raises InvalidRequest when the file cannot
    be read.
    """
    if source == "-":
        text = sys.stdin.read()
    else:
        try:
            text = Path(source).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise InvalidRequest(f"cannot read {source}: {error.strerror}") from None
    found = preview(text, config.sanitize, profile) if form.as_json or form.is_check else None
    if form.as_json and found is not None:
        print_json_lines([found])
    else:
        sys.stdout.write(explain(text, config.sanitize, profile) + "\n")
    if not form.is_check or found is None:
        return 0
    return int(any(each["request"] in ("redact", "block") for each in found["findings"]))


def ocr(config: Config, options: ocr_command.OcrOptions) -> int:
    """`gateway ocr FILE|URL`: print the text of a document. 0, or 1 when a page failed.

    Raises InvalidRequest for a source or options that cannot be used, EngineMissing without the OCR extra.
    """

    async def fetch() -> bytes:
        async with open_fetcher(config) as fetcher:
            return await ocr_command.read_source(options.source, fetcher.fetch_image)

    return ocr_command.run(asyncio.run(fetch()), options)


def ocr_batch(options: BatchOptions) -> int:
    """`gateway ocr FILE|DIR… --out DIR`: write the texts of documents. 0, or 3 when some failed.

    Raises InvalidRequest where there is nothing to read or no place to write, EngineMissing without the OCR extra.
    """
    engine = OcrEngine(os.cpu_count() or 1)
    engine.load()
    try:
        return run_batch(options, engine, ocr_command.MAX_DOCUMENT_BYTES)
    finally:
        engine.close()


def progress_on(out: TextIO) -> Progress:
    """Progress drawn as a bar on a terminal; ignored elsewhere, where a line for each step would be noise."""
    return Progress(lambda state: _draw(state, out)) if out.isatty() else Progress()


def _draw(state: Progress, out: TextIO) -> None:
    total = max(state.total or state.done, 1)
    filled = _BAR_WIDTH * state.done // total
    out.write(f"\r\x1b[K[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] {state.done}/{total} {state.message[:60]}")
    if state.done >= total:
        out.write("\n")
    out.flush()
