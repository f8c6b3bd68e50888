"""`gateway call` and `search`, which ask a running gateway, and `index` and `sanitize`, which need none.

Every command prints for people, or with `--json` for programs, and returns its exit code.
"""

import argparse
import asyncio
import sys
import time
from pathlib import Path

from gateway.app.web_tools import open_copy, open_index
from gateway.cli import call
from gateway.cli.call import add_connection_options, connection
from gateway.cli.options import (
    Paint,
    Parsers,
    add_depth_option,
    add_json_option,
    add_state_options,
    count,
    print_json_lines,
    progress_on,
)
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.settings import Config
from gateway.domain import Json
from gateway.engines.index.port import copy_pages
from gateway.errors import InvalidRequest
from gateway.sanitize.report import explain, preview


def add_commands(parsers: Parsers) -> None:
    """Add `call`, `search`, `index` and `sanitize`."""
    tool = parsers.add_parser("call", help="call one web tool of a running gateway")
    tool.add_argument("tool", metavar="TOOL", help="search, extract, crawl, map or search_status")
    tool.add_argument("pairs", metavar="key=value", nargs="*", help="its arguments, before or after the options")
    tool.add_argument("--json", action="store_true", help="print the raw result")
    add_connection_options(tool)
    tool.set_defaults(command=_call)
    search = parsers.add_parser("search", help="search with a running gateway")
    search.add_argument("words", metavar="WORD", nargs="+", help="the query")
    search.add_argument("--max-results", type=count, default=5, metavar="N", help="default: %(default)s")
    search.add_argument("--json", action="store_true", help="print the raw result")
    add_connection_options(search)
    search.set_defaults(command=_search)
    _add_index(parsers)
    clean = parsers.add_parser("sanitize", help="show what the sanitizer finds in a text")
    clean.add_argument("file", metavar="FILE", nargs="?", default="-", help="default: -, standard input")
    clean.add_argument("--profile", choices=("balanced", "strict", "reversible"))
    clean.add_argument("--check", action="store_true", help="exit with 1 if a value would be masked in a request")
    add_json_option(clean)
    add_state_options(clean)
    clean.set_defaults(command=_sanitize)


def _add_index(parsers: Parsers) -> None:
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


def _config(arguments: argparse.Namespace, environment: Environment) -> Config:
    return load_config(arguments.config, arguments.state_dir, environment)


def _call(arguments: argparse.Namespace, environment: Environment) -> int:
    gateway = connection(arguments, environment)
    return call.run(gateway, arguments.tool, arguments.pairs, Paint(sys.stdout, environment), raw=arguments.json)


def _search(arguments: argparse.Namespace, environment: Environment) -> int:
    pairs = [f"query={' '.join(arguments.words)}", f"max_results={arguments.max_results}"]
    paint = Paint(sys.stdout, environment)
    return call.run(connection(arguments, environment), "search", pairs, paint, raw=arguments.json)


def _index_add(arguments: argparse.Namespace, environment: Environment) -> int:
    async def run() -> Json:
        async with open_index(_config(arguments, environment)) as filler:
            return await filler.add(arguments.source, arguments.limit, progress_on(sys.stderr), arguments.depth)

    answer = asyncio.run(run())
    if arguments.json:
        print_json_lines([answer])
    else:
        for failure in answer["failed"]:
            sys.stderr.write(f"not read: {failure['url']}: {failure['error']}\n")
        if "note" in answer:
            sys.stderr.write(f"{answer['note']}\n")
        sys.stdout.write(f"{answer['added']} pages added\n")
    return 0 if answer["added"] else 1


def _index_remove(arguments: argparse.Namespace, environment: Environment) -> int:
    async def run() -> int:
        async with open_index(_config(arguments, environment)) as filler:
            return await filler.remove(arguments.url)

    removed = asyncio.run(run())
    if arguments.json:
        print_json_lines([{"removed": removed}])
    else:
        sys.stdout.write(f"{removed} pages removed\n")
    return 0 if removed else 1


def _index_stats(arguments: argparse.Namespace, environment: Environment) -> int:
    """A line for each value, or one of JSON in which times are unix seconds."""

    async def run() -> Json:
        async with open_index(_config(arguments, environment)) as filler:
            return await filler.stats()

    stats = asyncio.run(run())
    if arguments.json:
        print_json_lines([stats])
        return 0
    vectors = stats.pop("vectors", None) or {}
    for name, value in (stats | {f"vectors {name}": value for name, value in vectors.items()}).items():
        if name in ("oldest", "newest") and value is not None:
            value = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(value))
        sys.stdout.write(f"{name:20} {'-' if value is None else value}\n")
    return 0


def _index_copy(arguments: argparse.Namespace, environment: Environment) -> int:
    async def run() -> int:
        async with open_copy(_config(arguments, environment), arguments.to) as (source, target):
            return await copy_pages(source, target, progress_on(sys.stderr))

    copied = asyncio.run(run())
    if arguments.json:
        print_json_lines([{"copied": copied, "to": arguments.to}])
    else:
        sys.stdout.write(f"{copied} pages copied to {arguments.to}\n")
    return 0


def _sanitize(arguments: argparse.Namespace, environment: Environment) -> int:
    settings = _config(arguments, environment).sanitize
    if arguments.file == "-":
        text = sys.stdin.read()
    else:
        try:
            text = Path(arguments.file).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise InvalidRequest(f"cannot read {arguments.file}: {error.strerror}") from None
    if arguments.json:
        print_json_lines([preview(text, settings, arguments.profile)])
    else:
        sys.stdout.write(explain(text, settings, arguments.profile) + "\n")
    if not arguments.check:
        return 0
    found = preview(text, settings, arguments.profile)["findings"]
    return int(any(each["request"] in ("redact", "block") for each in found))
