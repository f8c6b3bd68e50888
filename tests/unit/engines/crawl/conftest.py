"""A site on loopback and the engine over it, for tests of one site and ordinary settings."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.websites import Answer, Engine, Site, engine, serving


@pytest.fixture
def pages() -> dict[str, Answer]:
    """Those that the site has from its start."""
    return {}


@pytest.fixture
async def site(pages: dict[str, Answer]) -> AsyncIterator[Site]:
    async with serving(Site(pages)) as site:
        yield site


@pytest.fixture
async def made(site: Site, tmp_path: Path) -> AsyncIterator[Engine]:
    async with engine(tmp_path, (site.address,)) as made:
        yield made
