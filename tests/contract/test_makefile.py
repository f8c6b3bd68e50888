"""What `make` runs of the tests, read from the commands it would run."""

import os
import subprocess

import pytest

from tests.support.paths import ROOT


def commands(*goals: str) -> list[str]:
    """The commands that run tests for these goals, a second run of failures left out."""
    own = ("MAKE", "MFLAGS", "TESTARGS")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    done = subprocess.run(
        ["make", "-n", *goals], cwd=ROOT, env=variables, capture_output=True, text=True, timeout=60, check=True
    )
    return [line.split("||")[0] for line in done.stdout.splitlines() if " -m pytest " in line]


@pytest.mark.parametrize("goals", [("check",), ("test",), ("check", "test"), ("test", "check")], ids=" ".join)
def test_each_contract_test_is_run_once_whatever_is_made(goals: tuple[str, ...]) -> None:
    made = commands(*goals)
    assert all(" tests/" in line for line in made), "pytest without a folder runs every test"
    on_contract = [line for line in made if "tests/contract" in line]
    assert sum("and alone" in line for line in on_contract) == 1
    assert sum("and not alone" in line for line in on_contract) == 1


def test_what_check_has_run_comes_before_the_other_tests() -> None:
    folders = ["tests/contract" in line for line in commands("test", "check")]
    assert folders == sorted(folders, reverse=True) and False in folders
