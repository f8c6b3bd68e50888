"""Fixtures shared by all tests; which tests are slow by what they use; how tests are divided between processes."""

import gc
import logging
import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from types import ModuleType

import aiohttp
import hypothesis
import pytest
from xdist.scheduler import LoadGroupScheduling, Scheduling

from gateway import logs
from tests.support import gateway_process
from tests.support.asking import HASTY, toml
from tests.support.gateways import Gateway, Serve, start_process
from tests.support.model_clients import python_of
from tests.support.ocr_running import TIMEOUT as OCR_TIMEOUT
from tests.support.ocr_running import ocr_server
from tests.support.upstream import Upstream, scripted_upstream

MODULE_FIXTURE = re.compile(r'scope="module"')
"""Fixtures of module scope cost seconds or memory: the tests of such a file run in one process, one after another."""
MEMORY_BYTES = 4 << 30
"""What must be free in memory for the folders of a run: they hold up to half of it."""
DEAR_CLIENTS = re.compile(r"^(?:from|import) (?:anthropic|mcp)\b", re.MULTILINE)
"""Official clients whose types take a second and more to import, in each test process."""
ALL_SLOW = re.compile(r"^pytestmark = .*\bmark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A run without slow tests does not even import the files that have no others."""
    if "not slow" in config.option.markexpr and collection_path.match("test_*.py"):
        source = _source(collection_path)
        return True if DEAR_CLIENTS.search(source) or ALL_SLOW.search(source) else None
    return None


hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")
"""No example fails for the time that it takes: that is a matter of what else the machine does."""


def pytest_configure(config: pytest.Config) -> None:
    """Temporary folders are in memory where programs may be run from there: a gateway syncs its files to the disk, and
    starts in 40 ms instead of 150 without one. Garbage is looked for again in `pytest_collection_finish`."""
    gc.disable()
    memory = Path("/dev/shm")
    may_run = memory.is_dir() and not os.statvfs(memory).f_flag & (os.ST_NOEXEC | os.ST_RDONLY)
    if may_run and shutil.disk_usage(memory).free > MEMORY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


class ByFunction(LoadGroupScheduling):  # type: ignore[misc]
    """Hands out the cases of a test function together: a message for each of thousands of cases costs more than the
    case, and the scheduler looks through all it has handed out after each test. Files whose tests share a fixture are
    handed out whole, and all that use the one OCR server together. (xdist 3.8 does not see the marks of groups in
    pytest 9.2: it sets an attribute of items that is no longer read.)"""

    def _split_scope(self, nodeid: str) -> str:
        return _group_of_file(self.config.rootpath / nodeid.partition("::")[0]) or nodeid.partition("[")[0]


@cache
def _group_of_file(path: Path) -> str:
    source = _source(path)
    return "ocr_url" if "ocr_url" in source else str(path) if MODULE_FIXTURE.search(source) else ""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scheduling | None:
    return ByFunction(config, log) if config.option.dist == "loadgroup" else None


def pytest_collection_finish() -> None:
    """Nothing of modules and collected tests is garbage: looking for some there takes a fifth of a collection."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow are tests that start a gateway in a process of its own, and those that ask through an official client (the
    fixture `client`). Those whose client has an environment of its own are tests of the system: it is fetched."""
    for item in items:
        if isinstance(item, pytest.Function):
            used = item.function.__code__.co_names
            if "client" in item.fixturenames or start_process.__name__ in used or _all_are_slow(item.path, item.module):
                item.add_marker(pytest.mark.slow)
            if python_of.__name__ in used:
                item.add_marker(pytest.mark.system)


@cache
def _source(path: Path) -> str:
    return path.read_text()


@cache
def _all_are_slow(path: Path, module: ModuleType) -> bool:
    """Whether a module imports an official client, or has names of `gateway_process`: then each of its tests is taken
    to use it, through its fixtures or functions."""
    names = vars(module).values()
    return bool(DEAR_CLIENTS.search(_source(path))) or any(
        getattr(each, "__module__", None) == gateway_process.__name__ for each in names
    )


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """Whatever a test sets up of logging ends with it."""
    root = logging.getLogger()
    before = [(each, each.handlers[:], each.level, each.propagate) for each in (root, logs.log)]
    yield
    for each, handlers, level, propagate in before:
        each.handlers[:], each.propagate = handlers, propagate
        each.setLevel(level)


@pytest.fixture
async def serve(tmp_path: Path, upstream: Upstream) -> AsyncIterator[Serve]:
    """`await serve(toml)`: a whole gateway, ended with the test."""
    async with AsyncExitStack() as stack:
        yield Serve(tmp_path, stack, upstream)


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with scripted_upstream() as made:
        yield made


@pytest.fixture
async def server(serve: Serve, upstream: Upstream) -> Gateway:
    return await serve(toml(upstream))


@pytest.fixture
async def hasty_server(serve: Serve, upstream: Upstream) -> Gateway:
    """For a test in which the upstream falls silent: it waits a second."""
    return await serve(toml(upstream, **HASTY))


@pytest.fixture(scope="session")
def ocr_url() -> Iterator[str]:
    """The embedded OCR server in a process of its own, one for all tests: its models take a second to load."""
    with ocr_server() as url:
        yield url


@pytest.fixture
async def ocr_session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=OCR_TIMEOUT) as session:
        yield session
