"""Blocks of a document, run as a reader pastes them into a shell beside a running gateway.

A block `sh` is run; a block `text` behind it is its output: what stands between two `…` must come, in this order. Only
addresses are changed, to those of the test's gateway.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.support.gateway_process import GatewayProcess
from tests.support.paths import ROOT

RUN_S = 240
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ACTIVATE = ". .venv/bin/activate 2>/dev/null || export PATH=$PWD/.venv/bin:$PATH\n"
"""What the first block of a document does for all shells of its reader."""


class Block(NamedTuple):
    """`kind`: the word behind the fence. `shown`: the output that the document shows behind it."""

    kind: str
    text: str
    shown: str


def blocks_of(document: str) -> list[Block]:
    found = _FENCE.findall(document)
    after = [*found[1:], ("", "")]
    return [
        Block(kind, text, more if next_kind == "text" else "")
        for (kind, text), (next_kind, more) in zip(found, after, strict=False)
    ]


def make_clone(gateway: GatewayProcess, folder: Path) -> Path:
    """The folder as a clone after `make run`: the state directory, the commands, the sample picture."""
    (folder / "var").symlink_to(gateway.state_dir)
    (folder / "tests").symlink_to(ROOT / "tests")
    (folder / ".venv").symlink_to(Path(sys.executable).parent.parent)
    return folder


def here(text: str, gateway: GatewayProcess) -> str:
    """The text with the addresses of this gateway."""
    return text.replace("http://127.0.0.1:8080", gateway.url).replace("http://127.0.0.1:9464", gateway.ops_url)


def paste(block: Block, gateway: GatewayProcess, folder: Path) -> None:
    """Run a block of commands and compare its output with what is shown, but for blanks at which lines are broken."""
    variables = {
        "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8",
        "GATEWAY_PORT": str(gateway.port), "GATEWAY_OPS_PORT": str(gateway.ops_port),
    }  # fmt: skip
    script = _ACTIVATE + here(block.text, gateway).replace(". .venv/bin/activate\n", "")
    done = subprocess.run(
        ["bash", "-eu", "-c", script],
        cwd=folder, env=variables, capture_output=True, text=True, timeout=RUN_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (block.text, done.stdout[-500:], done.stderr[-2000:])
    out, place = _squeezed(done.stdout), 0
    for part in filter(None, map(_squeezed, here(block.shown, gateway).split("…"))):
        at = out.find(part, place)
        assert at >= 0, (part, out[place : place + 500], done.stderr[-500:])
        place = at + len(part)


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)
