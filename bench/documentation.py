"""Installed documentation packages as Markdown pages, for the benchmarks of search and of the sanitizer.

A set is a folder with `sites.json`: `[{site, package, dir, exclude: [regular expression]}]`; `dir` is below the folder
given as `--docs` (`/` for installed packages). Not a measurement.
"""

import argparse
import json
import os
import re
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gateway.engines.documents.page import extract
from gateway.engines.documents.parse_pool import ExtractOptions
from gateway.engines.fetch.errors import Unreadable

HOST = "http://docs.test"
_SUFFIXES = (".html", ".htm")


@dataclass(frozen=True, slots=True)
class SourcePage:
    """One HTML file. `name` is its path inside the site."""

    site: str
    name: str
    file: Path

    @property
    def url(self) -> str:
        return page_url(self.site, self.name)


@dataclass(frozen=True, slots=True)
class MarkdownPage:
    """What the extractor makes of a page; an unreadable page has neither title nor text."""

    source: SourcePage
    title: str
    text: str


def page_url(site: str, name: str) -> str:
    return f"{HOST}/{site}/{quote(name)}"


def read_json(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text("utf-8"))


def find_pages(folder: Path, docs: Path) -> list[SourcePage]:
    """The pages of every site of a set. Ends the program when a site has none."""
    pages = []
    for entry in read_json(folder, "sites.json"):
        root = docs / entry["dir"]
        names = sorted(
            path.relative_to(root).as_posix() for path in root.rglob("*") if path.suffix.lower() in _SUFFIXES
        )
        wanted = [name for name in names if not any(re.search(pattern, name) for pattern in entry["exclude"])]
        if not wanted:
            raise SystemExit(f"no pages below {root}; install the package {entry['package']} or name another --docs")
        pages += [SourcePage(entry["site"], name, root / name) for name in wanted]
    return pages


def to_markdown(html: bytes, url: str) -> tuple[str, str]:
    """`(title, text)`; both empty when the extractor refuses the page."""
    try:
        data = extract(html, ExtractOptions(url))
    except Unreadable:
        return "", ""
    return data["title"], data["content"]


def _read_page(page: SourcePage) -> MarkdownPage:
    return MarkdownPage(page, *to_markdown(page.file.read_bytes(), page.url))


def read_pages(folder: Path, docs: Path) -> Iterator[MarkdownPage]:
    """Every page of a set, extracted by one process a core."""
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        yield from processes.map(_read_page, find_pages(folder, docs), chunksize=16)


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """The options that every benchmark over a set has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--set", type=Path, help="folder of a set; nothing is measured without it")
    parser.add_argument("--docs", type=Path, default=Path("/"), help="where the packages are; default /")
    return parser


def work_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="gateway-bench-")
