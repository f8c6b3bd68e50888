"""The machine of the system tests: a real systemd with the gateway installed on it, once for all of them."""

from collections.abc import Iterator

import pytest

from tests.support.booted_systemd import PYTHON, booted
from tests.support.installed_service import InstalledService


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InstalledService]:
    """The installed service on a machine of its own."""
    with booted(tmp_path_factory.mktemp("systemd")) as machine:
        service = InstalledService(machine, str(PYTHON), "/opt/source", "/opt/packages")
        service.start_upstream()
        yield service
