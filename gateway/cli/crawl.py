"""`gateway crawl URL --out DIR`: a site as Markdown files or JSON lines, read here, without a running server."""

import argparse
import asyncio
import sys
from pathlib import Path

from gateway.access.private_files import naming
from gateway.app.web_tools import open_site
from gateway.cli.argument_types import (
    Parsers,
    add_depth_option,
    add_json_option,
    add_state_options,
    count,
    print_json_lines,
)
from gateway.cli.local import progress_on
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.domain import CrawlRequest


def add_commands(parsers: Parsers) -> None:
    """Add `crawl`."""
    parser = parsers.add_parser(
        "crawl",
        help="write a site into a folder: a Markdown file a page; again: only what has changed",
    )
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
    config = load_config(arguments.config, arguments.state_dir, environment)
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
        for failure in told["failed"]:
            sys.stderr.write(f"not read: {failure['url']}: {failure['error']}\n")
        if told["note"]:
            sys.stderr.write(f"{told['note']}\n")
        sys.stdout.write(f"{told['written']} pages written to {arguments.out}, {told['unchanged']} unchanged\n")
        return code

    with naming(arguments.out):
        return asyncio.run(run())
