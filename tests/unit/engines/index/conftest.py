"""An index in a file of its own, closed with the test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.engines.index.store import PageIndex


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[PageIndex]:
    made = PageIndex(tmp_path / "i.db")
    yield made
    await made.close()
