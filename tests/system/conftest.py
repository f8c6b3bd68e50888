"""The machine of the system tests: a real systemd with the gateway installed on it, once for all of them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.support.booted_systemd import BootedSystemd, why_not
from tests.support.installed_service import InstalledService
from tests.support.paths import ROOT

_PYTHON = Path("/usr/bin/python3")


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InstalledService]:
    """The installed service on a machine of its own."""
    if reason := why_not():
        pytest.skip(f"no systemd can be booted here: {reason}")
    minor = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not _PYTHON.exists() or _PYTHON.resolve().name != minor:
        pytest.skip(f"{_PYTHON} is not {minor}, for which the packages of these tests are built")
    folder = tmp_path_factory.mktemp("systemd") / "machine"
    folder.mkdir()
    packages = Path(aiohttp.__file__).parent.parent
    with BootedSystemd(folder, {packages: "/opt/packages", ROOT: "/opt/source"}) as machine:
        service = InstalledService(machine, str(_PYTHON), "/opt/source", "/opt/packages")
        service.start_upstream()
        yield service
