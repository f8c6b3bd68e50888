"""What the README prints works as it is pasted into a fresh shell, and the output it shows is what comes.

A block `sh` is run, a block `text` after it is its output: what stands between two `…` must come, in this order. Only
the addresses are changed, to those of the test's gateway. Blocks of another kind are for a machine of the reader's own.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateway_process import GatewayProcess
from tests.support.gateways import NEEDS_MODEL, start_process
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
RUN_S = 240
SHELL_BLOCKS = [
    (given, BLOCKS[at + 1][1] if BLOCKS[at + 1][0] == "text" else "")
    for at, (kind, given) in enumerate(BLOCKS)
    if kind == "sh"
]

pytestmark = [pytest.mark.system, *NEEDS_MODEL]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with start_process(tmp_path_factory.mktemp("readme"), embedded=True) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def folder(gateway: GatewayProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a clone after `make run`: the state directory, the commands, the sample picture."""
    folder = tmp_path_factory.mktemp("clone")
    (folder / "var").symlink_to(gateway.state_dir)
    (folder / "tests").symlink_to(ROOT / "tests")
    (folder / ".venv").symlink_to(Path(sys.executable).parent.parent)
    return folder


def here(text: str, gateway: GatewayProcess) -> str:
    return text.replace("http://127.0.0.1:8080", gateway.url).replace("http://127.0.0.1:9464", gateway.ops_url)


def squeezed(text: str) -> str:
    """Without the blanks at which lines are broken for people."""
    return re.sub(r"\s+", "", text)


def run(script: str, gateway: GatewayProcess, folder: Path) -> str:
    variables = {
        "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8",
        "GATEWAY_PORT": str(gateway.port), "GATEWAY_OPS_PORT": str(gateway.ops_port),
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-eu", "-c", script],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("at", range(len(SHELL_BLOCKS)))
def test_a_block_of_commands_gives_the_output_that_is_shown(at: int, gateway: GatewayProcess, folder: Path) -> None:
    script, shown = (here(text, gateway) for text in SHELL_BLOCKS[at])
    activate = (
        ". .venv/bin/activate 2>/dev/null || export PATH=$PWD/.venv/bin:$PATH\n"  # as the first block does for all
    )
    out = squeezed(run(activate + script.replace(". .venv/bin/activate\n", ""), gateway, folder))
    place = 0
    for part in filter(None, map(squeezed, shown.split("…"))):
        found = out.find(part, place)
        assert found >= 0, (part, out[place : place + 500])
        place = found + len(part)


def test_the_python_of_the_readme_works(gateway: GatewayProcess, folder: Path) -> None:
    (source,) = [text for kind, text in BLOCKS if kind == "python"]
    done = subprocess.run(
        [sys.executable, "-c", here(source, gateway)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert done.returncode == 0 and done.stdout.strip(), done.stderr[-2000:]


def test_every_command_of_the_table_exists() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "gateway"], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    for name in re.findall(r"`gateway ([\w-]+)", README):
        assert re.search(rf"^    {re.escape(name)}\b", told, re.MULTILINE) or name == "COMMAND", name
