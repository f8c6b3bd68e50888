"""Commands that work on files and pages from the shell: search index, sanitizer, OCR. Told as people read it."""

import asyncio
import sys
import time
from pathlib import Path
from typing import TextIO

from gateway.app import open_fetcher, open_index
from gateway.cli import ocr as ocr_command
from gateway.config.settings import Config
from gateway.domain import Json, Progress
from gateway.errors import InvalidRequest
from gateway.sanitize.report import explain

_BAR_WIDTH = 24


def index_add(config: Config, source: str, limit: int) -> int:
    """`gateway index add`: 0 when at least one page came in, else 1."""

    async def run() -> Json:
        async with open_index(config) as filler:
            return await filler.add(source, limit, _progress(sys.stderr))

    answer = asyncio.run(run())
    for failure in answer["failed"]:
        sys.stderr.write(f"not read: {failure['url']}: {failure['error']}\n")
    if "note" in answer:
        sys.stderr.write(f"{answer['note']}\n")
    sys.stdout.write(f"{answer['added']} pages added\n")
    return 0 if answer["added"] else 1


def index_remove(config: Config, url: str) -> int:
    async def run() -> int:
        async with open_index(config) as filler:
            return await filler.remove(url)

    count = asyncio.run(run())
    sys.stdout.write(f"{count} pages removed\n")
    return 0 if count else 1


def index_stats(config: Config) -> int:
    async def run() -> Json:
        async with open_index(config) as filler:
            return await filler.stats()

    for name, value in asyncio.run(run()).items():
        if name in ("oldest", "newest") and value is not None:
            value = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(value))
        sys.stdout.write(f"{name:20} {'-' if value is None else value}\n")
    return 0


def sanitize(config: Config, source: str, profile: str | None) -> int:
    """`gateway sanitize [FILE|-]`. Raises InvalidRequest when there is no such file."""
    if source == "-":
        text = sys.stdin.read()
    else:
        try:
            text = Path(source).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise InvalidRequest(f"{source} cannot be read: {error.strerror}") from None
    sys.stdout.write(explain(text, config.sanitize, profile) + "\n")
    return 0


def ocr(config: Config, options: ocr_command.OcrOptions) -> int:
    """`gateway ocr FILE|URL`. Raises InvalidRequest, EngineMissing."""

    async def read() -> bytes:
        async with open_fetcher(config) as fetcher:
            return await ocr_command.read_source(options.source, fetcher.fetch_image)

    return ocr_command.run(asyncio.run(read()), options)


def _progress(out: TextIO) -> Progress:
    """A bar on a terminal, one line a step elsewhere would be noise: then nothing."""
    return Progress(lambda state: _draw(state, out)) if out.isatty() else Progress()


def _draw(state: Progress, out: TextIO) -> None:
    total = max(state.total or state.done, 1)
    filled = _BAR_WIDTH * state.done // total
    out.write(f"\r\x1b[K[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] {state.done}/{total} {state.message[:60]}")
    if state.done >= total:
        out.write("\n")
    out.flush()
