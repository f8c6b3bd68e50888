"""The supervisor of the installed service and `check-config` load little: a restart waits for both."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

HEAVY = {
    "aiohttp", "prometheus_client", "lxml", "onnxruntime", "numpy", "cv2", "xllamacpp", "phonenumbers",
    "stdnum", "markdown_it",
}  # fmt: skip
"""Libraries of the application and its engines."""

OWN_HEAVY = (
    "app", "web.server", "web.handlers", "web.middleware", "engines", "sanitize.", "services", "providers", "ocr",
)  # fmt: skip
"""Our own folders with the application and its engines in them."""

SUPERVISOR = "import gateway.cli.main, gateway.cli.serve, gateway.runtime.workers, gateway.runtime.supervisor"
CHECK = "import gateway.cli.main, gateway.cli.check"


def loaded(statement: str) -> list[str]:
    """Names of the modules that are loaded after a statement in a process of its own."""
    program = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    names: list[str] = json.loads(done.stdout)
    return names


@pytest.mark.parametrize("statement", [SUPERVISOR, CHECK], ids=["supervisor", "check-config"])
def test_neither_the_application_nor_an_engine_is_loaded(statement: str) -> None:
    names = loaded(statement)
    assert not HEAVY & {name.split(".")[0] for name in names}
    own = [name.removeprefix("gateway.") for name in names if name.startswith("gateway.")]
    assert own
    assert not [name for name in own if f"{name}.".startswith(tuple(f"{each.rstrip('.')}." for each in OWN_HEAVY))]


def test_a_worker_loads_both_which_the_test_above_would_notice() -> None:
    names = loaded("import gateway.runtime.worker")
    assert "aiohttp" in names and "gateway.app.application" in names


FIRST_TEXT = """
import asyncio
from gateway.config.settings import Sanitize
from gateway.sanitize.pipeline import Sanitizer
from gateway.texts import TextSlot, TextUnit
held = {"content": "my password is tR4vel!ing99"}
asyncio.run(Sanitizer(Sanitize()).clean(TextUnit([TextSlot(held, "content", "content")]), "requests"))
assert "tR4vel" not in held["content"], held
"""


def test_a_worker_loads_the_detectors_with_the_first_text_that_is_sanitized() -> None:
    idle, used = (set(loaded(f"import gateway.runtime.worker\n{more}")) for more in ("", FIRST_TEXT))
    detectors = {"gateway.sanitize.scanner", "gateway.sanitize.detectors.named_secrets"}
    assert "gateway.sanitize.pipeline" in idle and not detectors & idle
    assert detectors <= used


@pytest.mark.alone
@pytest.mark.slow
def test_checking_a_configuration_costs_less_than_a_third_of_a_second_of_cpu(tmp_path: Path) -> None:
    example = ROOT / "systemd" / "gateway.toml.example"
    costs = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "gateway", "check-config", str(example)],
            env={"GATEWAY_CREDENTIAL_LLM": "x"}, cwd=tmp_path, check=True, timeout=60, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(costs) < 0.3, costs
