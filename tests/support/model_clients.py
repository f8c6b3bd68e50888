"""Clients of the model routes, each in its own process and environment, fetched once from locks of their own.

What cannot be fetched (no network, another platform) skips the test with a plain message.
"""

import shutil

import pytest

from tests.support.official import fetch_modules, fetching, make_venv
from tests.support.paths import CLIENTS, ROOT

AI = CLIENTS / "ai"


def python_of(name: str) -> str:
    """The interpreter of the environment `.venv-NAME`, made from `tests/clients/requirements-NAME.txt`."""
    return make_venv(ROOT / f".venv-{name}", CLIENTS / f"requirements-{name}.txt")


def ai_sdk_command() -> list[str]:
    """Node with the Vercel AI SDK beside it."""
    npm, node, lock = shutil.which("npm"), shutil.which("node"), AI / "package-lock.json"
    if npm is None or node is None:
        pytest.skip("npm or node is not installed: the Vercel AI SDK is not run")
    with fetching():
        fetch_modules(npm, AI, lock)
    return [node, str(AI / "ai.mjs")]
