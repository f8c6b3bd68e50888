"""`gateway call`, `index`, `sanitize` and `ocr`: parses their arguments and calls them."""

import argparse
import sys
from pathlib import Path

from gateway.cli import call
from gateway.cli import local as commands
from gateway.cli.argument_types import Parsers, add_state_options, count, page_range
from gateway.cli.ocr import OcrOptions
from gateway.cli.ocr_batch import FORMATS, BatchOptions
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.settings import Config

EX_USAGE = 2


def add_commands(parsers: Parsers) -> None:
    """Add `call`, `index`, `sanitize` and `ocr`."""
    tool = parsers.add_parser("call", help="call one web tool of a running gateway")
    tool.add_argument("tool", metavar="TOOL", help="search, extract, crawl, map or search_status")
    tool.add_argument("pairs", metavar="key=value", nargs="*", help="its arguments")
    tool.add_argument("--url", default="http://127.0.0.1:8080", help="default: %(default)s")
    tool.add_argument("--key", help="default: the contents of STATE_DIR/dev-key")
    tool.add_argument("--state-dir", type=Path, metavar="DIR")
    tool.add_argument("--json", action="store_true", help="the raw result")
    tool.set_defaults(command=_call)
    index = parsers.add_parser("index", help="manage the local search index")
    actions = index.add_subparsers(required=True, metavar="ACTION")
    add = actions.add_parser("add", help="add a site or a folder of documents, for every key")
    add.add_argument("source", metavar="URL|DIR")
    add.add_argument("--limit", type=count, default=1000, help="pages; default: %(default)s")
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
        add_state_options(action)
    _add_text_commands(parsers)


def _add_text_commands(parsers: Parsers) -> None:
    clean = parsers.add_parser("sanitize", help="show what the sanitizer finds in a text")
    clean.add_argument("file", metavar="FILE", nargs="?", default="-", help="default: -, standard input")
    clean.add_argument("--profile", choices=("balanced", "strict"))
    clean.set_defaults(command=_sanitize)
    read = parsers.add_parser("ocr", help="read images, TIFFs and PDFs")
    read.add_argument("sources", metavar="FILE|DIR|URL", nargs="+", help="several, or a folder, need --out")
    read.add_argument("--out", type=Path, metavar="DIR", help="write a file for each document")
    read.add_argument("--format", default="md", choices=FORMATS, help="of the files in --out (default md)")
    read.add_argument("--pages", type=page_range, metavar="3-7", help="of PDFs and TIFFs")
    read.add_argument("--mode", default="", choices=("markdown", "free", "locate", "describe", "custom"))
    read.add_argument("--prompt", default="", help="for mode custom")
    read.add_argument("--grounding", action="store_true", help="custom: with boxes")
    read.add_argument("--find", default="", metavar="TEXT", help="for mode locate")
    read.add_argument("--overlay", type=Path, metavar="OUT.png", help="draw the boxes on the image")
    read.set_defaults(command=_ocr)
    for parser in (clean, read):
        add_state_options(parser)


def _config(arguments: argparse.Namespace, environment: Environment) -> Config:
    return load_config(arguments.config, arguments.state_dir, environment)


def _index_add(arguments: argparse.Namespace, environment: Environment) -> int:
    return commands.index_add(_config(arguments, environment), arguments.source, arguments.limit)


def _index_remove(arguments: argparse.Namespace, environment: Environment) -> int:
    return commands.index_remove(_config(arguments, environment), arguments.url)


def _index_stats(arguments: argparse.Namespace, environment: Environment) -> int:
    return commands.index_stats(_config(arguments, environment))


def _index_copy(arguments: argparse.Namespace, environment: Environment) -> int:
    return commands.index_copy(_config(arguments, environment), arguments.to)


def _sanitize(arguments: argparse.Namespace, environment: Environment) -> int:
    return commands.sanitize(_config(arguments, environment), arguments.file, arguments.profile)


def _ocr(arguments: argparse.Namespace, environment: Environment) -> int:
    if arguments.out is not None:
        batch = BatchOptions(tuple(arguments.sources), arguments.out, arguments.format, arguments.pages)
        return commands.ocr_batch(batch)
    if len(arguments.sources) > 1 or Path(arguments.sources[0]).is_dir():
        sys.stderr.write("gateway: several documents need --out DIR, where their texts are written\n")
        return EX_USAGE
    options = OcrOptions(
        arguments.sources[0],
        arguments.mode,
        arguments.prompt,
        arguments.grounding,
        arguments.find,
        arguments.overlay,
        pages=arguments.pages,
    )
    return commands.ocr(_config(arguments, environment), options)


def _call(arguments: argparse.Namespace, environment: Environment) -> int:
    key = arguments.key
    if not key:
        file = (arguments.state_dir or environment.state_dir) / "dev-key"
        if not file.is_file():
            sys.stderr.write(
                f"gateway: there is no key in {file}; give --key, or --state-dir DIR with a dev-key in it\n"
            )
            return EX_USAGE
        key = file.read_text().strip()
    return call.run(arguments.url, key, arguments.tool, arguments.pairs, raw=arguments.json)
