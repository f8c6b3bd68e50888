"""What a terminal shows and a program reads: colours on the one, JSON for the other."""

import argparse
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.cli.main import parser
from tests.support.ocr_running import SAMPLE

GATEWAY = (sys.executable, "-m", "gateway")
LIMIT_S = 60
WITHOUT_ANSWER = {
    "serve", "worker", "llm-server", "ocr-server", "reload", "upgrade", "backup", "restore",
    "print-config", "completion", "manual",
}  # fmt: skip
"""Commands that run a server, act without a result, or print a file in a form of its own."""


def on_a_terminal(*words: str, **variables: str) -> str:
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **variables}
    try:
        with subprocess.Popen(
            [*GATEWAY, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
        ) as process:
            os.close(theirs)
            read = b"".join(_pieces(ours))
            process.wait(LIMIT_S)
    finally:
        os.close(ours)
    return read.decode()


def _pieces(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # the other side is closed
            return
        if not piece:
            return
        yield piece


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "gateway.toml"
    file.write_text("[server]\nport = 8081\n")
    return file


@pytest.mark.slow
def test_a_terminal_has_colours_unless_it_does_not_want_them(config: Path) -> None:
    assert f"{config}: \x1b[32mok\x1b[0m" in on_a_terminal("check-config", str(config))
    assert "\x1b" not in on_a_terminal("check-config", str(config), NO_COLOR="1")
    assert "\x1b" not in on_a_terminal("check-config", str(config), TERM="dumb")


@pytest.mark.slow
def test_a_pipe_has_no_colours_and_errors_are_red_on_a_terminal(config: Path, tmp_path: Path) -> None:
    done = subprocess.run([*GATEWAY, "check-config", str(config)], capture_output=True, text=True, check=True)
    assert done.stdout == f"{config}: ok\n"
    assert on_a_terminal("keys", "revoke", "none", "--state-dir", str(tmp_path)).startswith("\x1b[31mgateway:\x1b[0m ")


def commands(root: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, set[str]]]:
    inner = [action for action in root._actions if isinstance(action, argparse._SubParsersAction)]
    for action in inner:
        for word, below in action.choices.items():
            yield from commands(below, f"{name} {word}".strip())
    if not inner:
        yield name, set(root._option_string_actions)


def test_every_command_with_an_answer_gives_it_as_json() -> None:
    without = {name for name, options in commands(parser("")) if "--json" not in options}
    assert without == WITHOUT_ANSWER


def rows(*words: str, code: int = 0, text: str = "") -> list[dict[str, object]]:
    done = subprocess.run([*GATEWAY, *words], capture_output=True, text=True, input=text, check=False)
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_a_configuration_is_judged_as_json(config: Path) -> None:
    assert rows("check-config", str(config), "--json")[0]["ok"] is True
    config.write_text("[server]\nport = 'x'\n")
    wrong = rows("check-config", str(config), "--json", code=78)[0]
    assert wrong["ok"] is False and "server.port" in str(wrong["error"])


@pytest.mark.slow
def test_keys_are_made_rotated_and_revoked_as_json(tmp_path: Path) -> None:
    there = ("--state-dir", str(tmp_path), "--json")
    made = rows("keys", "create", "--name", "ann", "--scope", "chat", *there)[0]
    assert str(made["key"]).startswith("gw_") and made["scopes"] == ["chat"] and "sha256" not in made
    new = rows("keys", "rotate", str(made["id"]), *there)[0]
    assert new["key"] != made["key"]
    assert rows("keys", "revoke", str(made["id"]), *there)[0]["revoked"] is True
    assert [row["id"] for row in rows("keys", "list", *there)] == [new["id"]]


@pytest.mark.slow
def test_findings_and_the_index_are_told_as_json(tmp_path: Path) -> None:
    found = rows("sanitize", "--json", "--check", text="mail ann.lee@posthaus.org", code=1)[0]
    assert found["findings"][0]["entity"] == "EMAIL"  # type: ignore[index]
    there = ("--state-dir", str(tmp_path), "--json")
    assert rows("index", "remove", "https://posthaus.org/", *there, code=1) == [{"removed": 0}]


@pytest.mark.slow
def test_a_page_is_read_as_json() -> None:
    page = rows("ocr", str(SAMPLE), "--mode", "free", "--json")[0]
    assert page["page"] == 1 and "Harbour Street Stationers" in str(page["text"])
    assert page["ocr"]["lines"][0]["box"]  # type: ignore[index]
