"""Clients of the model routes, each in its own process and environment, fetched once from locks of their own.

What cannot be fetched (no network, another platform) skips the test with a plain message.
"""

import shutil
import sys

import pytest

from tests.support.official import fetch, is_fresh, mark_fresh
from tests.support.paths import CLIENTS, ROOT

AI = CLIENTS / "ai"


def python_of(name: str) -> str:
    """The interpreter of the environment `.venv-NAME`, made from `tests/clients/requirements-NAME.txt`."""
    lock, venv = CLIENTS / f"requirements-{name}.txt", ROOT / f".venv-{name}"
    python = venv / "bin" / "python"
    if not is_fresh(venv, lock):
        fetch([sys.executable, "-m", "venv", "--clear", str(venv)], ROOT)
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1"]
        fetch([*pip, "--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", str(lock)], ROOT)
        mark_fresh(venv, lock)
    return str(python)


def ai_sdk_command() -> list[str]:
    """Node with the Vercel AI SDK beside it."""
    npm, node, lock = shutil.which("npm"), shutil.which("node"), AI / "package-lock.json"
    if npm is None or node is None:
        pytest.skip("npm or node is not installed: the Vercel AI SDK is not run")
    if not is_fresh(AI / "node_modules", lock):
        fetch([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"], AI)
        mark_fresh(AI / "node_modules", lock)
    return [node, str(AI / "ai.mjs")]
