"""A wheel of this project carries everything the program reads at run time."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in tracked.splitlines():
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), "."]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=120)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_every_file_of_the_gateway_every_schema_and_every_page_of_the_documentation(
    wheel: Path,
) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "gateway"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert {name for name in tracked.splitlines() if (ROOT / name).is_file()} <= names
    for folder, package in (("schemas", "gateway_schemas"), ("docs", "gateway_docs")):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".json", ".md"):
                assert f"{package}/{path.relative_to(ROOT / folder)}" in names
    assert "gateway/cli/main.py" in names and not any(name.startswith(("tests", "bench")) for name in names)


def test_an_installed_wheel_checks_a_configuration(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    (tmp_path / "bad.toml").write_text("[server]\nprot = 1\n")
    command = [sys.executable, "-c", "import sys, gateway.cli.main as cli; sys.exit(cli.main(sys.argv[1:]))"]
    done = subprocess.run(
        [*command, "check-config", "bad.toml"], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, "server.prot: is unknown" in done.stderr) == (78, True), done.stderr
