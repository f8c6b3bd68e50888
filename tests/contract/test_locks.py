"""Everything that is installed is pinned by hash and comes as a wheel: nothing else is fetched, nothing is built."""

import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
ENTRY = re.compile(r"[\w.-]+(\[[\w,-]+\])?==[\w.!+-]+( ;[^#]*)?(\s+--hash=sha256:[0-9a-f]{64})+\s*")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_distribution_of_a_lock_has_one_version_and_its_hashes(lock: Path) -> None:
    lines = lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    entries = [line for line in lines if line.strip() and not line.startswith("#")]
    assert entries
    for entry in entries:
        assert ENTRY.fullmatch(entry), entry


def test_what_is_installed_must_be_a_wheel_of_a_known_hash() -> None:
    commands = [line for line in (ROOT / ".ci/install").read_text().splitlines() if "$PIP install" in line]
    assert commands
    for command in commands:
        is_the_gateway_itself = command.rstrip().endswith("-e .") and "--no-deps" in command
        assert is_the_gateway_itself or ("--require-hashes" in command and "--only-binary :all:" in command), command
