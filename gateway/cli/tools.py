"""`gateway call`, `search`, `index`, `sanitize` and `ocr`: parses their arguments and calls them."""

import argparse
import sys
from pathlib import Path

from gateway.cli import call
from gateway.cli import local as commands
from gateway.cli.argument_types import Parsers, add_depth_option, add_json_option, add_state_options, count, page_range
from gateway.cli.connection import add_connection_options, connection
from gateway.cli.ocr import OcrOptions
from gateway.cli.ocr_batch import FORMATS, BatchOptions
from gateway.cli.terminal import Paint
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.settings import Config
from gateway.errors import InvalidRequest


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
    return commands.index_add(
        _config(arguments, environment), arguments.source, arguments.limit, arguments.depth, as_json=arguments.json
    )


def _index_remove(arguments: argparse.Namespace, environment: Environment) -> int:
    return commands.index_remove(_config(arguments, environment), arguments.url, as_json=arguments.json)


def _index_stats(arguments: argparse.Namespace, environment: Environment) -> int:
    return commands.index_stats(_config(arguments, environment), as_json=arguments.json)


def _index_copy(arguments: argparse.Namespace, environment: Environment) -> int:
    return commands.index_copy(_config(arguments, environment), arguments.to, as_json=arguments.json)


def _sanitize(arguments: argparse.Namespace, environment: Environment) -> int:
    form = commands.SanitizeForm(is_check=arguments.check, as_json=arguments.json)
    return commands.sanitize(_config(arguments, environment), arguments.file, arguments.profile, form)


def _ocr(arguments: argparse.Namespace, environment: Environment) -> int:
    if arguments.out is not None and arguments.json:
        raise InvalidRequest("--json prints one document; for files in --out use --format json")
    if arguments.out is not None:
        if idle := [name for name in _OF_ONE_DOCUMENT if getattr(arguments, name)]:
            raise InvalidRequest(f"--{idle[0]} is for one document that is printed, not for files in --out")
        batch = BatchOptions(tuple(arguments.sources), arguments.out, arguments.format or "md", arguments.pages)
        return commands.ocr_batch(batch)
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
    return commands.ocr(_config(arguments, environment), options)


def _call(arguments: argparse.Namespace, environment: Environment) -> int:
    gateway = connection(arguments, environment)
    return call.run(gateway, arguments.tool, arguments.pairs, Paint(sys.stdout, environment), raw=arguments.json)


def _search(arguments: argparse.Namespace, environment: Environment) -> int:
    pairs = [f"query={' '.join(arguments.words)}", f"max_results={arguments.max_results}"]
    paint = Paint(sys.stdout, environment)
    return call.run(connection(arguments, environment), "search", pairs, paint, raw=arguments.json)
