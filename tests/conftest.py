"""Fixtures shared by all tests."""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from gateway import logs
from gateway.embedded.servers import Embedded
from tests.support import gateway_process
from tests.support.asking import toml
from tests.support.gateways import InProcessGateway, StartGateway, start_in_process, start_process
from tests.support.ocr_running import TIMEOUT as OCR_TIMEOUT
from tests.support.ocr_running import ocr_server
from tests.support.upstream import Upstream, scripted_upstream

SHARED_FIXTURES = {"ocr_url", "gateway", "imports", "wheel", "said", "engine"}
"""Fixtures of module or session scope. Each costs seconds or memory, so only one of the test processes makes it."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Groups for `pytest -n 2 --dist loadgroup`: tests that share such a fixture run in one process; all others are
    distributed one by one. Tests that start a gateway in a process of its own are slow."""
    for item in items:
        if isinstance(item, pytest.Function) and _starts_processes(item):
            item.add_marker(pytest.mark.slow)
        names = item.fixturenames if isinstance(item, pytest.Function) else []
        for name in sorted(SHARED_FIXTURES.intersection(names)):
            place = "" if name == "ocr_url" else f" of {item.path.stem}"
            item.add_marker(pytest.mark.xdist_group(name + place))


def _starts_processes(item: pytest.Function) -> bool:
    """Whether a test calls `start_process`, or its module has names of `gateway_process`: then each of its tests is
    taken to start one, through its fixtures or functions."""
    names = vars(item.module).values()
    return start_process.__name__ in item.function.__code__.co_names or any(
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
async def start_gateway(tmp_path: Path) -> AsyncIterator[StartGateway]:
    """`await start_gateway(toml)`: a whole gateway, ended with the test."""
    async with AsyncExitStack() as stack:
        count = 0

        async def start(toml: str = "", embedded: Embedded | None = None, **variables: str) -> InProcessGateway:
            nonlocal count
            count += 1
            state_dir = tmp_path / f"state{count}"
            state_dir.mkdir()
            return await stack.enter_async_context(start_in_process(state_dir, toml, embedded, **variables))

        yield start


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with scripted_upstream() as made:
        yield made


@pytest.fixture
async def server(start_gateway: StartGateway, upstream: Upstream) -> InProcessGateway:
    return await start_gateway(toml(upstream))


@pytest.fixture(scope="session")
def ocr_url() -> Iterator[str]:
    """The embedded OCR server in a process of its own, one for all tests: its models take a second to load."""
    with ocr_server() as url:
        yield url


@pytest.fixture
async def ocr_session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=OCR_TIMEOUT) as session:
        yield session
