"""The control socket: what a command learns of the running supervisor."""

import asyncio
from pathlib import Path

import pytest

from gateway.errors import InvalidRequest
from gateway.runtime.control import ControlSocket, ask


async def reloaded() -> str:
    return "reloaded"


async def refused() -> str:
    raise InvalidRequest("the file is\nwrong")


def socket_at(folder: Path) -> ControlSocket:
    return ControlSocket(folder / "control", {"reload": reloaded, "upgrade": refused})


async def test_a_command_learns_how_it_went(tmp_path: Path) -> None:
    control = socket_at(tmp_path)
    await control.open()
    assert await asyncio.to_thread(ask, tmp_path / "control", "reload", 5) == "reloaded"
    with pytest.raises(InvalidRequest, match="the file is wrong"):
        await asyncio.to_thread(ask, tmp_path / "control", "upgrade", 5)
    with pytest.raises(InvalidRequest, match="unknown command; known: reload, upgrade"):
        await asyncio.to_thread(ask, tmp_path / "control", "sing", 5)
    await control.close()
    assert not (tmp_path / "control").exists()


async def test_only_its_owner_may_use_it(tmp_path: Path) -> None:
    control = socket_at(tmp_path)
    await control.open()
    assert (tmp_path / "control").stat().st_mode & 0o777 == 0o600
    await control.close()


async def test_a_successor_takes_the_path_over_and_keeps_it(tmp_path: Path) -> None:
    old, new = socket_at(tmp_path), ControlSocket(tmp_path / "control", {"status": reloaded})
    await old.open()
    await new.open()
    await old.close()
    assert await asyncio.to_thread(ask, tmp_path / "control", "status", 5) == "reloaded"
    await new.close()


async def test_a_client_that_says_nothing_or_too_much_does_no_harm(tmp_path: Path) -> None:
    control = socket_at(tmp_path)
    await control.open()
    _, silent = await asyncio.open_unix_connection(tmp_path / "control")
    reader, loud = await asyncio.open_unix_connection(tmp_path / "control")
    loud.write(b"x" * 100_000)
    async with asyncio.timeout(10):
        await reader.read()
    assert await asyncio.to_thread(ask, tmp_path / "control", "reload", 5) == "reloaded"
    silent.close()
    loud.close()
    await control.close()
