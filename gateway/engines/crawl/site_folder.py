"""A site as a folder of Markdown files, or as one file of JSON lines, for `gateway crawl`.

Beside the pages lies `.gateway-crawl.jsonl`: for each page its file, its links and what the site said of its version. A
later crawl into the same folder asks for each page only if it has changed (RFC 9110 §13), and goes on where an
interrupted one stopped.
"""

import asyncio
import hashlib
import re
import time
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson

from gateway.access.inside_folder import append_inside, inside, read_inside, replace_inside
from gateway.config.settings import Web
from gateway.domain import CrawlRequest, Json, Progress
from gateway.engines.crawl.crawler import Crawler, CrawlPlan
from gateway.engines.crawl.engine import EngineDeps, indexed_page
from gateway.engines.crawl.page_loader import LoadedPage, PageLoader
from gateway.engines.crawl.page_results import explain
from gateway.engines.documents.parse_pool import ExtractOptions, ParsePool
from gateway.engines.fetch.errors import FetchFailed, SkippedUrl, Unreadable
from gateway.engines.fetch.robots import RobotsCache
from gateway.engines.fetch.urls import canonical, from_caller, parse_url
from gateway.engines.index.page_rows import SHARED, IndexedPage
from gateway.engines.index.port import Index, IndexBatch
from gateway.errors import InvalidRequest

RECORD_FILE = ".gateway-crawl.jsonl"
JSONL_FILE = "pages.jsonl"
_NOT_IN_NAMES = re.compile(r"[^\w.,@+-]+")
_MAX_NAME_CHARS = 60  # of one folder or file
_MAX_PARTS = 12  # folders of one address that become folders
_FRONT = re.compile(r"\A---\n.*?\n---\n\n?", re.DOTALL)


class SiteFolder:
    """The pages below `folder`. `is_jsonl`: as lines of `pages.jsonl` instead of files. `open` comes first.

    Implements `page_loader.SavedPages`. `written`, `unchanged`: pages of this crawl that were new or other than before,
    and those that were not.
    """

    def __init__(self, folder: Path, *, is_jsonl: bool) -> None:
        self._folder = folder
        self._is_jsonl = is_jsonl
        self._records: dict[str, Json] = {}
        self._texts: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._read: dict[str, tuple[str, list[Any]]] = {}
        self.written = 0
        self.unchanged = 0

    def open(self) -> None:
        """Read what an earlier crawl has left. Raises InvalidRequest when the folder cannot be used."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for record in self._lines_of(RECORD_FILE):
                if isinstance(record.get("file"), str) and self._is_ours(record["file"]):
                    self._records[record["url"]] = record
            for page in self._lines_of(JSONL_FILE) if self._is_jsonl else ():
                self._texts[page["url"]] = str(page.get("content", ""))
        except OSError as error:
            raise InvalidRequest(f"{self._folder} cannot be used: {error.strerror}", param="out") from None
        self._files = {record["file"]: url for url, record in self._records.items()}

    def _lines_of(self, name: str) -> Iterator[Json]:
        """The objects with an address in a file of JSON lines; none where there is no such file. Raises OSError."""
        path = self._folder / name
        for line in read_inside(self._folder, path).splitlines() if path.exists() else ():
            value = _decoded(line)
            if value and isinstance(value.get("url"), str):
                yield value

    def _is_ours(self, file: str) -> bool:
        """Whether a name is one that a crawl gives to a page, and its file lies in the folder: the list of files may
        have been written by somebody else."""
        names = file.split("/")
        try:
            inside(self._folder, (self._folder / file).parent)
        except (OSError, ValueError):
            return False
        return file == JSONL_FILE or (file.endswith(".md") and not any(name[:1] in ("", ".") for name in names))

    def page(self, url: str) -> LoadedPage | None:
        """The page as it was read before; None when it was not, or its file is gone."""
        record = self._records.get(url)
        if record is None or not record.get("validators"):
            return None
        content = self._saved_text(record)
        if content is None:
            return None
        data = {**record["data"], "content": content, "links": [tuple(link) for link in record["links"]]}
        return LoadedPage(record["address"], data, validators=record["validators"], fetched_at=record["fetched_at"])

    def keep(self, url: str, page: LoadedPage) -> None:
        """Remember a page that was asked for as `url`, in case that it is taken."""
        self._read[page.url] = url, list(page.data.get("links", ()))

    async def take(self, page: LoadedPage) -> None:
        """Write a page of the crawl. Raises OSError."""
        url, links = self._read.pop(page.url, (page.url, []))
        await asyncio.to_thread(self._write, url, page, links)

    def _write(self, url: str, page: LoadedPage, links: list[Any]) -> None:
        old, data = self._records.get(url), page.data
        if old is not None and old["data"].get("hash") == data.get("hash") and self._saved_text(old) is not None:
            self.unchanged += 1
            if old["validators"] == dict(page.validators):
                return
            file = old["file"]
        else:
            file = old["file"] if old is not None else self._new_file(page.address)
            self._store(file, page)
            self.written += 1
        record = {
            "url": url,
            "address": page.url,
            "file": file,
            "fetched_at": page.fetched_at,
            "validators": dict(page.validators),
            "links": links,
            "data": {name: value for name, value in data.items() if name not in ("content", "links")},
        }
        self._records[url] = record
        append_inside(self._folder, self._folder / RECORD_FILE, orjson.dumps(record, default=str) + b"\n")

    def _store(self, file: str, page: LoadedPage) -> None:
        data = page.data
        if self._is_jsonl:
            line = {
                "url": page.address, "title": data.get("title", ""), "published": data.get("published"),
                "fetched_at": page.fetched_at, "content": data["content"],
            }  # fmt: skip
            self._texts[page.address] = data["content"]
            append_inside(self._folder, self._folder / JSONL_FILE, orjson.dumps(line) + b"\n")
            return
        head = front_matter(page.address, data.get("title", ""), data.get("published"), page.fetched_at)
        replace_inside(self._folder, self._folder / file, f"{head}{data['content']}\n".encode())

    def _saved_text(self, record: Json) -> str | None:
        if self._is_jsonl:
            return self._texts.get(record["address"])
        try:
            text = read_inside(self._folder, self._folder / record["file"]).decode(errors="replace")
        except OSError:
            return None
        return _FRONT.sub("", text, count=1).removesuffix("\n")

    def _new_file(self, address: str) -> str:
        """A name that no other page has, on file systems that know no upper case too."""
        if self._is_jsonl:
            return JSONL_FILE
        name = file_name(address)
        taken = {each.lower() for each in self._files}
        if name.lower() in taken:
            name = f"{name.removesuffix('.md')}-{hashlib.sha256(address.encode()).hexdigest()[:8]}.md"
        self._files[name] = address
        return name


def file_name(address: str) -> str:
    """A path below the folder for a page: its host and path with `.md`, and a digest of its query. Never leaves the
    folder, whatever the address holds."""
    parts = urlsplit(address)
    names = [part for part in unquote(parts.path).split("/") if part]
    names = [_plain(part) for part in names[:_MAX_PARTS]] + (
        ["-".join(map(_plain, names[_MAX_PARTS:]))] if names[_MAX_PARTS:] else []
    )
    if not names or parts.path.endswith("/"):
        names.append("index")
    last = re.sub(r"\.(html?|xhtml|php|aspx?|md)$", "", names.pop(), flags=re.IGNORECASE)[:_MAX_NAME_CHARS] or "index"
    if parts.query:
        last += "-" + hashlib.sha256(parts.query.encode()).hexdigest()[:8]
    return "/".join([_plain(parts.netloc), *names, f"{last}.md"])


def _plain(name: str) -> str:
    """Letters, digits and a few signs; no name begins with a dot, so that none is hidden or leads upwards."""
    return _NOT_IN_NAMES.sub("-", name).strip("-.")[:_MAX_NAME_CHARS] or "-"


def front_matter(address: str, title: str, published: str | None, fetched_at: float) -> str:
    """YAML between two lines of dashes: strings as JSON writes them are YAML too (yaml.org, 1.2, §10.2).

    `fetched_at` is Unix time.
    """
    values = {"address": address, "title": title}
    if published:
        values["date"] = published
    values["fetched"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(fetched_at))
    lines = "".join(f"{name}: {orjson.dumps(value).decode()}\n" for name, value in values.items())
    return f"---\n{lines}---\n\n"


def _decoded(line: bytes) -> Json | None:
    """A line of JSON that is an object; a last line that an interrupt cut is not."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


MAX_FILE_BYTES = 10_485_760  # as much as a fetched page may have once unpacked (FetchLimits)
FILL_BUDGET_S = 6 * 3600.0  # a site of 10,000 pages at one request in two seconds
OPERATOR = "the command line"  # the owner of the pages that a command reads: it shares no turn with a key
_MAX_DEPTH = 16
_MAX_BREADTH = 500  # depth and links per page of the crawl
_PATH_BEGINNINGS = ("/", "./", "../", "~")  # how a folder is written, and no web address
_READ_AT_ONCE = 8  # files read at once
_KINDS = {
    ".html": "text/html", ".htm": "text/html", ".xhtml": "application/xhtml+xml", ".md": "text/markdown",
    ".markdown": "text/markdown", ".txt": "text/plain", ".rst": "text/plain", ".pdf": "application/pdf",
    ".json": "application/json", ".xml": "application/xml",
}  # fmt: skip


class IndexFiller:
    """Adds pages to the index and removes them. Its dependencies are closed by the code that built them."""

    def __init__(self, deps: EngineDeps, pool: ParsePool, settings: Web) -> None:
        self._loader: PageLoader = deps.loader
        self._robots: RobotsCache = deps.robots
        self._index: Index = deps.index
        self._pool = pool
        self._settings = settings

    async def add(self, source: str, limit: int, progress: Progress, depth: str = "basic") -> Json:
        """Adds at most `limit` pages of the site or folder `source`: `{added, failed: [{url, error}], note?}`. `depth`
        as of an extract: "advanced" renders a site's pages where the configuration has it so.

        Raises InvalidRequest, EngineMissing.
        """
        folder = Path(source)
        if "://" not in source and await asyncio.to_thread(folder.is_dir):
            return await self._add_folder(folder, limit, progress)
        return await self._add_site(source, limit, progress, depth)

    async def remove(self, source: str) -> int:
        """Removes one page, or all pages below a folder or a URL that ends with `/`, of every key; returns how many."""
        if "://" not in source and await asyncio.to_thread(Path(source).exists):
            path = await asyncio.to_thread(Path(source).resolve)
            return await self._index.remove(path.as_uri() + ("/" if path.is_dir() else ""))
        address = from_caller(source)
        return await self._index.remove(canonical(address) or address)

    async def stats(self) -> Json:
        """`{pages, bytes, oldest, newest, error}`, see Index.stats."""
        return await self._index.stats()

    async def _add_site(self, source: str, limit: int, progress: Progress, depth: str) -> Json:
        try:
            root = canonical(str(parse_url(from_caller(source))))
        except SkippedUrl as error:
            reason = f"{error.message}; give a URL or a folder"
            if source.startswith(_PATH_BEGINNINGS):
                reason = "there is no such folder"
            raise InvalidRequest(f"{source}: {reason}", param="url") from error
        request = CrawlRequest(
            root or source,
            max_depth=_MAX_DEPTH,
            max_breadth=_MAX_BREADTH,
            limit=limit,
            allow_external=False,
            extract_depth=depth,
        )
        batch = IndexBatch(self._index.add)

        async def take(page: LoadedPage) -> None:
            if not page.data.get("noindex"):
                await batch.take(indexed_page(page, SHARED))

        plan = CrawlPlan(request, root or source, FILL_BUDGET_S, take=take, hold_chars=0)
        robots = self._robots if self._settings.respect_robots else None
        try:
            async with self._loader.of(OPERATOR) as loader:
                outcome = await Crawler(loader, robots, plan, progress).run()
        finally:  # an interrupt does not lose the pages read before it
            await batch.store()
        failed = [{"url": url, "error": failure.message} for url, failure in outcome.failures]
        return _summary(batch, failed, explain(outcome, request, bool(batch.added)))

    async def _add_folder(self, folder: Path, limit: int, progress: Progress) -> Json:
        folder = await asyncio.to_thread(folder.absolute)
        paths = (await asyncio.to_thread(_readable_files, folder))[:limit]
        batch = IndexBatch(self._index.add)
        failed: list[Json] = []
        left, done = iter(paths), 0

        async def read() -> None:  # while one stores what is read, the others read on
            nonlocal done
            for path in left:
                try:
                    await batch.take(await self._load(folder, path))
                except (FetchFailed, Unreadable) as failure:
                    failed.append({"url": path.as_uri(), "error": failure.message})
                done += 1
                progress.step(done, len(paths), path.name)

        try:
            await asyncio.gather(*(read() for _ in range(_READ_AT_ONCE)))
        finally:
            await batch.store()
        return _summary(
            batch, sorted(failed, key=itemgetter("url")), "" if paths else "The folder holds no file that can be read."
        )

    async def _load(self, folder: Path, path: Path) -> IndexedPage:
        uri, body = await asyncio.to_thread(_read_file, folder, path)
        data = await self._pool.extract(body, ExtractOptions(uri, _KINDS[path.suffix.lower()]))
        if not data["content"]:
            raise FetchFailed("the file holds no readable text", "empty")
        return IndexedPage(uri, data["title"], data["content"], SHARED, data["hash"], data.get("published"))


def _summary(batch: IndexBatch, failed: list[Json], note: str) -> Json:
    notes = " ".join(text for text in (note, batch.problem) if text)
    data: Json = {"added": batch.added, "failed": failed}
    return {**data, "note": notes} if notes else data


def _readable_files(folder: Path) -> list[Path]:
    """Links that lead nowhere are among them, to be told of; a pipe, which would be waited for, is not."""
    named = (path for path in folder.rglob("*") if path.suffix.lower() in _KINDS)
    return sorted(path for path in named if path.is_file() or not path.exists())


def _read_file(folder: Path, path: Path) -> tuple[str, bytes]:
    try:
        resolved = inside(folder, path)
        if resolved.stat().st_size > MAX_FILE_BYTES:
            raise FetchFailed(f"the file is larger than {MAX_FILE_BYTES} bytes", "too_large")
        return resolved.as_uri(), read_inside(folder, resolved)
    except OSError as error:
        raise FetchFailed(f"the file cannot be read ({error.strerror})", "unreadable") from error


class SiteWriter:
    """`loader` must have been made with `folder` as its saved pages."""

    def __init__(self, loader: PageLoader, robots: RobotsCache, folder: SiteFolder, settings: Web) -> None:
        self._loader = loader
        self._robots = robots
        self._folder = folder
        self._settings = settings

    async def write(self, request: CrawlRequest, delay_s: float, progress: Progress) -> Json:
        """Write the pages: `{written, unchanged, failed: [{url, error}], note}`.

        Raises InvalidRequest, EngineMissing, OSError.
        """
        try:
            root = canonical(str(parse_url(from_caller(request.url)))) or request.url
        except SkippedUrl as error:
            raise InvalidRequest(f"{request.url}: {error.message}; give the URL of a site", param="url") from error
        plan = CrawlPlan(request, root, FILL_BUDGET_S, take=self._folder.take, hold_chars=0, delay_s=delay_s)
        robots = self._robots if self._settings.respect_robots else None
        async with self._loader.of(OPERATOR) as loader:
            outcome = await Crawler(loader, robots, plan, progress).run()
        written, unchanged = self._folder.written, self._folder.unchanged
        return {
            "written": written,
            "unchanged": unchanged,
            "failed": [{"url": url, "error": failure.message} for url, failure in outcome.failures],
            "note": explain(outcome, request, bool(written or unchanged)),
        }
