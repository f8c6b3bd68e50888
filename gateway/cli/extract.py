"""`gateway extract`, `crawl` and `index`: read pages here, without a running server.

`extract` prints their text, `crawl` writes a site into a folder, `index` fills the local search index.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import orjson

from gateway.access.inside_folder import replace_inside
from gateway.access.private_files import naming
from gateway.app.web_engine import open_copy, open_index, open_reader, open_site
from gateway.cli.options import (
    Parsers,
    add_depth_option,
    add_json_option,
    add_state_options,
    count,
    one_line,
    print_json_lines,
    progress_on,
    say,
    tell,
)
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.settings import Config
from gateway.domain import CrawlRequest, ExtractRequest, Json
from gateway.engines.crawl.site_folder import IndexFiller, file_name, front_matter
from gateway.engines.index.port import copy_pages

T = TypeVar("T")

EX_USAGE = 2


def add_commands(parsers: Parsers) -> None:
    """Add `extract`, `crawl` and `index`."""
    _add_crawl(parsers)
    _add_index(parsers)
    read = parsers.add_parser("extract")
    read.add_argument("urls", metavar="URL", nargs="+")
    add_depth_option(read)
    read.add_argument("--format", default="markdown", choices=("markdown", "text"), help="default: %(default)s")
    read.add_argument("--out", type=Path, metavar="DIR", help="write one Markdown file for each page there instead")
    read.add_argument("--json", action="store_true", help="print the raw result")
    read.add_argument("--screenshot", type=Path, metavar="FILE.png", help="a picture of the page; of one URL only")
    add_state_options(read)
    read.set_defaults(command=_extract)


def _extract(arguments: argparse.Namespace, environment: Environment) -> int:
    if arguments.screenshot is not None and len(arguments.urls) > 1:
        say("gateway: --screenshot takes the picture of one page; give one URL\n", sys.stderr)
        return EX_USAGE
    config = load_config(arguments.config, arguments.state_dir, environment, needs_secrets=False)
    request = ExtractRequest(tuple(arguments.urls), extract_depth=arguments.depth, format=arguments.format)
    data = asyncio.run(_read(config, request, arguments.screenshot))
    if arguments.json:
        say(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode() + "\n")
    elif arguments.out is not None:
        _write(data, arguments.out)
    else:
        say(_printed(data))
    _tell_failures(data["failed_results"], arguments)
    return 1 if data["failed_results"] else 0


def _tell_failures(failed: list[Json], arguments: argparse.Namespace) -> None:
    """What could not be read; where a setting forbids it, also the file that could allow it."""
    for failure in failed:
        say(f"not read: {one_line(failure['url'])}: {one_line(failure['error'])}\n", sys.stderr)
    if any("web.allow_private" in failure["error"] for failure in failed):
        read = arguments.config or "no file, all defaults; --config FILE or GATEWAY_CONFIG names one"
        say(f"the configuration was read from {read}\n", sys.stderr)


async def _read(config: Config, request: ExtractRequest, screenshot: Path | None) -> Json:
    """The result of the extract; the picture of its first page is written to `screenshot`."""
    async with open_reader(config) as reader:
        data = await reader.read(request)
        if screenshot is not None:
            picture = await reader.picture(request.urls[0])
            with naming(screenshot):
                await asyncio.to_thread(screenshot.write_bytes, picture)
    return data


def _write(data: Json, folder: Path) -> None:
    """One file for each page, with its address and title at its head. Raises OSError."""
    for page in data["results"]:
        path = folder / file_name(page["url"])
        head = front_matter(page["url"], page.get("title", ""), None, time.time())
        with naming(path):
            replace_inside(folder, path, f"{head}{page['raw_content']}\n".encode())
    say(f"{len(data['results'])} pages written to {folder}\n")


def _printed(data: Json) -> str:
    """The pages' texts; of several, each below its address."""
    pages = data["results"]
    parts = [f"<!-- {page['url']} -->\n\n" if len(pages) > 1 else "" for page in pages]
    return "\n".join(f"{head}{page['raw_content']}\n" for head, page in zip(parts, pages, strict=True))


def _add_crawl(parsers: Parsers) -> None:
    """Add `crawl`."""
    parser = parsers.add_parser("crawl")
    parser.add_argument("url", metavar="URL")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--format", choices=("md", "jsonl"), default="md", help="default: %(default)s")
    parser.add_argument("--limit", type=count, default=500, metavar="N", help="pages; default: %(default)s")
    parser.add_argument(
        "--max-depth", type=int, choices=range(1, 17), default=16, metavar="N", help="links from the start"
    )
    parser.add_argument("--delay", type=_seconds, default=0.0, metavar="S", help="least seconds between two requests")
    parser.add_argument("--select", action="append", default=[], metavar="REGEX", help="only pages whose path matches")
    add_depth_option(parser)
    add_json_option(parser)
    add_state_options(parser)
    parser.set_defaults(command=_crawl)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 3600:
        raise argparse.ArgumentTypeError("must be seconds, 0 to 3600, such as 0.5")
    return value


def _crawl(arguments: argparse.Namespace, environment: Environment) -> int:
    config = load_config(arguments.config, arguments.state_dir, environment, needs_secrets=False)
    request = CrawlRequest(
        arguments.url,
        max_depth=arguments.max_depth,
        max_breadth=500,
        limit=arguments.limit,
        select_paths=tuple(arguments.select),
        allow_external=False,
        extract_depth=arguments.depth,
    )

    async def run() -> int:
        async with open_site(config, arguments.out, is_jsonl=arguments.format == "jsonl") as site:
            told = await site.write(request, arguments.delay, progress_on(sys.stderr))
        code = 0 if told["written"] or told["unchanged"] else 1
        if arguments.json:
            print_json_lines([{"out": str(arguments.out), **told}])
            return code
        _tell_failures(told["failed"], arguments)
        if told["note"]:
            say(f"{told['note']}\n", sys.stderr)
        say(f"{told['written']} pages written to {arguments.out}, {told['unchanged']} unchanged\n")
        return code

    with naming(arguments.out):
        return asyncio.run(run())


def _add_index(parsers: Parsers) -> None:
    index = parsers.add_parser("index")
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


def _of_index(
    arguments: argparse.Namespace, environment: Environment, work: Callable[[IndexFiller], Awaitable[T]]
) -> T:
    """The result of some work on the index of the configuration."""

    async def run() -> T:
        async with open_index(load_config(arguments.config, arguments.state_dir, environment)) as filler:
            return await work(filler)

    return asyncio.run(run())


def _index_add(arguments: argparse.Namespace, environment: Environment) -> int:
    source = (arguments.source, arguments.limit, progress_on(sys.stderr), arguments.depth)
    answer = _of_index(arguments, environment, lambda filler: filler.add(*source))
    if arguments.json:
        print_json_lines([answer])
    else:
        _tell_failures(answer["failed"], arguments)
        if "note" in answer:
            say(f"{answer['note']}\n", sys.stderr)
        say(f"{answer['added']} pages added\n")
    return 0 if answer["added"] else 1


def _index_remove(arguments: argparse.Namespace, environment: Environment) -> int:
    removed = _of_index(arguments, environment, lambda filler: filler.remove(arguments.url))
    tell({"removed": removed}, f"{removed} pages removed", sys.stdout, as_json=arguments.json)
    return 0 if removed else 1


def _index_stats(arguments: argparse.Namespace, environment: Environment) -> int:
    """A line for each value, or one of JSON in which times are unix seconds."""
    stats = _of_index(arguments, environment, IndexFiller.stats)
    if arguments.json:
        print_json_lines([stats])
        return 0
    vectors = stats.pop("vectors", None) or {}
    for name, value in (stats | {f"vectors {name}": value for name, value in vectors.items()}).items():
        if name in ("oldest", "newest") and value is not None:
            value = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(value))
        say(f"{name:20} {'-' if value is None else value}\n")
    return 0


def _index_copy(arguments: argparse.Namespace, environment: Environment) -> int:
    async def run() -> int:
        async with open_copy(load_config(arguments.config, arguments.state_dir, environment), arguments.to) as (
            source,
            target,
        ):
            return await copy_pages(source, target, progress_on(sys.stderr))

    copied = asyncio.run(run())
    row = {"copied": copied, "to": arguments.to}
    return tell(row, f"{copied} pages copied to {arguments.to}", sys.stdout, as_json=arguments.json)
