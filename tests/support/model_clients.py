"""Clients of the model routes, each in its own process and environment, fetched once from locks of their own.

What cannot be fetched (no network, another platform) skips the test with a plain message.
"""

import shutil
from pathlib import Path

import pytest

from tests.support.official import fetch_modules, fetching, make_venv
from tests.support.paths import CLIENTS, ROOT

AI, AGENTS, CONSOLE, OPENAPI, OPENAI = (CLIENTS / name for name in ("ai", "agents", "console", "openapi", "openai"))


def python_of(name: str) -> str:
    """The interpreter of the environment `.venv-NAME`, made from `tests/clients/requirements-NAME.txt`."""
    return make_venv(ROOT / f".venv-{name}", CLIENTS / f"requirements-{name}.txt")


def _beside_modules(program: Path, what: str) -> list[str]:
    """Node with a program and the packages of its folder's lock; `what` is named when the test is skipped."""
    npm, node, folder = shutil.which("npm"), shutil.which("node"), program.parent
    if npm is None or node is None:
        pytest.skip(f"npm or node is not installed: {what}")
    with fetching():
        fetch_modules(npm, folder, folder / "package-lock.json")
    return [node, str(program)]


def ai_sdk_command(program: str = "ai.mjs") -> list[str]:
    """Node with a program of `tests/clients/ai` and the Vercel AI SDK beside it."""
    return _beside_modules(AI / program, "the Vercel AI SDK is not run")


def agent(package: str, binary: str) -> str:
    """The binary of a coding agent, in the npm package for this platform. Their start scripts are not run."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: the coding agents are not run")
    with fetching():
        fetch_modules(npm, AGENTS, AGENTS / "package-lock.json")
    found = sorted((AGENTS / "node_modules" / package).glob(binary))
    if not found:
        pytest.skip(f"{package} is not made for this platform: the coding agent is not run")
    return str(found[0])


def console_command() -> list[str]:
    """Node with the program that drives the console in a browser, its driver and an accessibility checker beside it."""
    return _beside_modules(CONSOLE / "console.mjs", "the console is not tried in a browser")


def openapi_command() -> list[str]:
    """Node with the program that makes a client of the gateway's OpenAPI document, and the generator beside it."""
    return _beside_modules(OPENAPI / "make.mjs", "no client is made of the OpenAPI document")


def openai_js_command(program: Path) -> list[str]:
    """Node with a program that uses OpenAI's SDK for JavaScript; the program is copied beside the SDK."""
    node, _ = _beside_modules(OPENAI / "package.json", "OpenAI's SDK for JavaScript is not run")
    copy = OPENAI / "node_modules" / program.name
    shutil.copy(program, copy)
    return [node, str(copy)]
