"""`gateway call` and `search`, which ask a running gateway, and `index`, `sanitize` and `ocr`, which need none.

Every command prints for people, or with `--json` for programs, and returns its exit code.
"""

import argparse
import asyncio
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from gateway.app.web_tools import open_copy, open_fetcher, open_index
from gateway.cli import call
from gateway.cli.call import add_connection_options, connection
from gateway.cli.ocr import FORMATS, MAX_DOCUMENT_BYTES, BatchOptions, OcrOptions, read_source, run_batch
from gateway.cli.ocr import run as read_document
from gateway.cli.options import (
    Paint,
    Parsers,
    add_depth_option,
    add_json_option,
    add_state_options,
    count,
    page_range,
    print_json_lines,
)
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.settings import Config
from gateway.domain import Json, Progress
from gateway.engines.index.port import copy_pages
from gateway.errors import InvalidRequest
from gateway.ocr.server.engine import OcrEngine
from gateway.sanitize.report import explain, preview


def add_commands(parsers: Parsers) -> None:
    """Add `call`, `search`, `index`, `sanitize` and `ocr`."""
    tool = parsers.add_parser(
        "call",
        help="call one web tool of a running gateway",
    )
    tool.add_argument("tool", metavar="TOOL", help="search, extract, crawl, map or search_status")
    tool.add_argument("pairs", metavar="key=value", nargs="*", help="its arguments, before or after the options")
    tool.add_argument("--json", action="store_true", help="print the raw result")
    add_connection_options(tool)
    tool.set_defaults(command=_call)
    search = parsers.add_parser(
        "search",
        help="search with a running gateway",
    )
    search.add_argument("words", metavar="WORD", nargs="+", help="the query")
    search.add_argument("--max-results", type=count, default=5, metavar="N", help="default: %(default)s")
    search.add_argument("--json", action="store_true", help="print the raw result")
    add_connection_options(search)
    search.set_defaults(command=_search)
    index = parsers.add_parser("index", help="manage the local search index")
    actions = index.add_subparsers(required=True, metavar="ACTION")
    add = actions.add_parser("add", help="add a site or a folder of documents, for every key")
    add.add_argument("source", metavar="URL|DIR")
    add.add_argument("--limit", type=count, default=1000, help="pages; default: %(default)s")
    add_depth_option(add)
    add.set_defaults(command=_index_add)
    remove = actions.add_parser("remove", help="remove a page, all pages below a URL that ends with /, or a folder")
    remove.add_argument("url", metavar="URL|DIR")
    remove.set_defaults(command=_index_remove)
    stats = actions.add_parser("stats", help="show its size and age")
    stats.set_defaults(command=_index_stats)
    copy = actions.add_parser("copy", help="copy all pages from the other backend, those of every key")
    copy.add_argument("--to", required=True, choices=("sqlite", "postgres"), help="the backend that takes them")
    copy.set_defaults(command=_index_copy)
    for action in actions.choices.values():
        add_json_option(action)
        add_state_options(action)
    _add_text_commands(parsers)


def _add_text_commands(parsers: Parsers) -> None:
    clean = parsers.add_parser(
        "sanitize",
        help="show what the sanitizer finds in a text",
    )
    clean.add_argument("file", metavar="FILE", nargs="?", default="-", help="default: -, standard input")
    clean.add_argument("--profile", choices=("balanced", "strict", "reversible"))
    clean.add_argument("--check", action="store_true", help="exit with 1 if a value would be masked in a request")
    add_json_option(clean)
    clean.set_defaults(command=_sanitize)
    read = parsers.add_parser("ocr", help="read images, TIFFs and PDFs")
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
    read.set_defaults(command=_ocr)
    for parser in (clean, read):
        add_state_options(parser)


_OF_ONE_DOCUMENT = ("mode", "prompt", "grounding", "find", "overlay")
"""Options of `gateway ocr` that say how one document is printed."""


def _config(arguments: argparse.Namespace, environment: Environment) -> Config:
    return load_config(arguments.config, arguments.state_dir, environment)


def _index_add(arguments: argparse.Namespace, environment: Environment) -> int:
    return index_add(
        _config(arguments, environment), arguments.source, arguments.limit, arguments.depth, as_json=arguments.json
    )


def _index_remove(arguments: argparse.Namespace, environment: Environment) -> int:
    return index_remove(_config(arguments, environment), arguments.url, as_json=arguments.json)


def _index_stats(arguments: argparse.Namespace, environment: Environment) -> int:
    return index_stats(_config(arguments, environment), as_json=arguments.json)


def _index_copy(arguments: argparse.Namespace, environment: Environment) -> int:
    return index_copy(_config(arguments, environment), arguments.to, as_json=arguments.json)


def _sanitize(arguments: argparse.Namespace, environment: Environment) -> int:
    form = SanitizeForm(is_check=arguments.check, as_json=arguments.json)
    return sanitize(_config(arguments, environment), arguments.file, arguments.profile, form)


def _ocr(arguments: argparse.Namespace, environment: Environment) -> int:
    if arguments.out is not None and arguments.json:
        raise InvalidRequest("--json prints one document; for files in --out use --format json")
    if arguments.out is not None:
        if idle := [name for name in _OF_ONE_DOCUMENT if getattr(arguments, name)]:
            raise InvalidRequest(f"--{idle[0]} is for one document that is printed, not for files in --out")
        batch = BatchOptions(tuple(arguments.sources), arguments.out, arguments.format or "md", arguments.pages)
        return ocr_batch(batch)
    if len(arguments.sources) > 1 or Path(arguments.sources[0]).is_dir():
        raise InvalidRequest("several documents need --out DIR, where their texts are written")
    if arguments.format is not None:
        raise InvalidRequest("--format is for files in --out DIR; without it a text is printed, with --json as JSON")
    options = OcrOptions(
        arguments.sources[0],
        arguments.mode,
        arguments.prompt,
        arguments.grounding,
        arguments.find,
        arguments.overlay,
        pages=arguments.pages,
        as_json=arguments.json,
    )
    return ocr(_config(arguments, environment), options)


def _call(arguments: argparse.Namespace, environment: Environment) -> int:
    gateway = connection(arguments, environment)
    return call.run(gateway, arguments.tool, arguments.pairs, Paint(sys.stdout, environment), raw=arguments.json)


def _search(arguments: argparse.Namespace, environment: Environment) -> int:
    pairs = [f"query={' '.join(arguments.words)}", f"max_results={arguments.max_results}"]
    paint = Paint(sys.stdout, environment)
    return call.run(connection(arguments, environment), "search", pairs, paint, raw=arguments.json)


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


def ocr(config: Config, options: OcrOptions) -> int:
    """`gateway ocr FILE|URL`: print the text of a document. 0, or 1 when a page failed.

    Raises InvalidRequest for a source or options that cannot be used, EngineMissing without the OCR extra.
    """

    async def fetch() -> bytes:
        async with open_fetcher(config) as fetcher:
            return await read_source(options.source, fetcher.fetch_image)

    return read_document(asyncio.run(fetch()), options)


def ocr_batch(options: BatchOptions) -> int:
    """`gateway ocr FILE|DIR… --out DIR`: write the texts of documents. 0, or 3 when some failed.

    Raises InvalidRequest where there is nothing to read or no place to write, EngineMissing without the OCR extra.
    """
    engine = OcrEngine(os.cpu_count() or 1)
    engine.load()
    try:
        return run_batch(options, engine, MAX_DOCUMENT_BYTES)
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
