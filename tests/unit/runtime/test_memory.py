"""What a process that lives long gives back to the system."""

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

SCRIPT = """
import ctypes
from pathlib import Path
from gateway.runtime.memory import settle_memory

def held_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

settle_memory()
del (large := [bytes(16 << 20)])[:]  # by this, glibc would learn to keep blocks up to this size
before = held_mb()
blocks = [b"x" * (1 << 20) for _ in range(30)]
del blocks[:-1]  # the last one would keep those before it from being given back
print(held_mb() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_freed_bodies_go_back_to_the_system_though_a_later_one_is_still_held() -> None:
    printed = subprocess.check_output([sys.executable, "-c", SCRIPT], text=True, cwd=ROOT, timeout=60)
    assert float(printed) < 5
