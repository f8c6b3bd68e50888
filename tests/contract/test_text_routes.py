"""Every route that carries text can be sanitized: a new one that `sanitize.routes` cannot name fails here."""

import inspect
import json
from pathlib import Path

import pytest
from aiohttp import web

from gateway.app.application import build_app
from gateway.config.settings import Config
from gateway.web.endpoints import Endpoint
from gateway.web.state import SERVER_STATE
from gateway.wire.dialect import Dialect
from tests.support.paths import ROOT

WITHOUT_TEXT = {"models": "names of models, which the operator has configured"}
"""Names of rows that read no body and answer with none of a caller's, a model's or the web's words."""


@pytest.fixture
async def app(tmp_path: Path) -> web.Application:
    return build_app(Config(state_dir=tmp_path))


@pytest.fixture
def rows(app: web.Application) -> tuple[Endpoint, ...]:
    return app[SERVER_STATE].endpoints.rows


def named_routes() -> set[str]:
    schema = json.loads((ROOT / "schemas" / "config.json").read_text())
    return set(schema["properties"]["sanitize"]["properties"]["routes"]["items"]["enum"])


async def test_every_route_with_text_is_a_value_of_sanitize_routes(rows: tuple[Endpoint, ...]) -> None:
    for row in rows:
        covered = row.sanitized_as in named_routes()
        assert covered != (row.name in WITHOUT_TEXT), f"{row.method} {row.path}: no value of sanitize.routes covers it"
        assert covered or row.check is None, f"{row.method} {row.path} reads a body and cannot be sanitized"


async def test_every_value_of_sanitize_routes_is_a_route(rows: tuple[Endpoint, ...]) -> None:
    assert named_routes() == {row.sanitized_as for row in rows} - WITHOUT_TEXT.keys()


async def test_no_route_is_served_outside_the_table(app: web.Application, rows: tuple[Endpoint, ...]) -> None:
    assert {route.handler for route in app.router.routes()} == {row.handler for row in rows}


async def test_the_dialect_of_a_text_route_has_every_method_of_the_port(rows: tuple[Endpoint, ...]) -> None:
    wanted = {name for name, _ in inspect.getmembers(Dialect) if not name.startswith("_")}
    for row in rows:
        assert all(hasattr(row.dialect, name) for name in wanted), row.path
