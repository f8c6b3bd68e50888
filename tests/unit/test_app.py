"""The composition root: what it opens is closed, whatever fails."""

from pathlib import Path
from typing import Any

import pytest

from gateway.app.application import build_app
from gateway.config.settings import Config
from gateway.engines.documents.parse_pool import ParsePool
from gateway.engines.fetch.fetcher import Fetcher
from gateway.engines.index.store import PageIndex
from tests.support.paths import ROOT


async def test_a_close_that_fails_keeps_no_other_from_closing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    def note(kind: type[Any], failing: bool) -> None:
        async def close(self: Any) -> None:
            closed.append(kind)
            if failing:
                raise OSError("the disk is gone")

        monkeypatch.setattr(kind, "close", close)

    note(PageIndex, failing=True)  # closed first: opened last
    note(ParsePool, failing=True)
    note(Fetcher, failing=False)
    app = build_app(Config(state_dir=tmp_path))
    app.freeze()
    await app.startup()
    with pytest.raises(OSError, match="the disk is gone"):
        await app.cleanup()
    assert closed == [Fetcher, PageIndex, ParsePool, Fetcher]  # the first is that of rendered pages


def test_the_names_of_the_embedded_models_are_written_once() -> None:
    for name in ("SvcLLM", "SvcOCR", "SvcOcr"):
        files = [path.name for path in (ROOT / "gateway").rglob("*.py") if name in path.read_text()]
        assert files == ["domain.py"], name
