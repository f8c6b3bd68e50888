"""What `make` runs of the tests, read from the commands it would run."""

import os
import subprocess

from tests.support.paths import ROOT


def commands(goal: str) -> list[str]:
    """The commands that run tests for this goal, a second run of failures left out."""
    own = ("MAKE", "MFLAGS", "TESTARGS")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    done = subprocess.run(
        ["make", "-n", goal], cwd=ROOT, env=variables, capture_output=True, text=True, timeout=60, check=True
    )
    return [line.split("||")[0] for line in done.stdout.splitlines() if " -m pytest " in line]


def test_check_runs_each_contract_test_once_and_those_that_measure_after_the_others() -> None:
    together, alone = commands("check")
    assert together.endswith(" tests/contract ") and "and not alone" in together
    assert alone.endswith(" tests/contract ") and "and alone" in alone and " -n " not in alone


def test_test_runs_each_other_test_once_beside_others_so_none_of_them_measures() -> None:
    (made,) = commands("test")
    assert made.endswith(" tests/flows tests/unit ")
    files = [path for folder in ("flows", "unit") for path in (ROOT / "tests" / folder).rglob("*.py")]
    assert len(files) > 100 and [path for path in files if "mark.alone" in path.read_text()] == []
