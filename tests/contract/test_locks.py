"""Everything that is installed is pinned by hash and comes as a wheel: nothing else is fetched, nothing is built."""

import importlib.metadata
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


def megabytes(lock: str) -> float:
    """What the distributions of a lock take on disk, with their compiled files."""
    names = re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==", (ROOT / f"requirements/{lock}.txt").read_text(), re.MULTILINE)
    files = (
        Path(str(found.locate_file(file)))
        for found in map(importlib.metadata.distribution, names)
        for file in found.files or ()
    )
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


def test_the_sizes_that_people_are_told_are_those_of_what_is_installed() -> None:
    installing, documents = (ROOT / ".ci/install").read_text(), (ROOT / "docs/dependencies.md").read_text()
    sizes = {lock.stem: megabytes(lock.stem) for lock in LOCKS}
    told = {
        name: int(size)
        for names, size in re.findall(r"([\w|-]+)\) fetched=\d+ disk=(\d+)", installing)
        for name in names.split("|")
    }
    assert told.keys() == sizes.keys()
    for name, size in sizes.items():
        assert told[name] == pytest.approx(size, rel=0.05), name
        row = re.search(rf"^\| `{name}` \|.*?\| (\d+) \|", documents, re.MULTILINE)
        assert row is not None or name in ("core", "dev")
        assert row is None or int(row[1]) == pytest.approx(size - sizes["core"], rel=0.05, abs=1), name
    for text in (documents, (ROOT / "README.md").read_text()):
        (core,) = re.findall(r"core alone \((\d+) MB|distributions, (\d+) MB on disk", text)
        assert int("".join(core)) == pytest.approx(sizes["core"], rel=0.05)
