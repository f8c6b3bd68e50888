"""What a terminal shows and a program reads: colours on the one, JSON for the other."""

import argparse
import ast
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.access.keys import KeyFile, KeyRequest
from gateway.cli.main import main, whole_parser
from tests.support.ocr_running import SAMPLE
from tests.support.paths import ROOT

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


def test_what_others_wrote_moves_no_cursor_and_adds_no_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "ann\x1b]0;owned\x07\x9b31m\nbob\u202e"
    (tmp_path / "\x1b[2J").mkdir()
    KeyFile(tmp_path / "keys.json").create(KeyRequest(name, ("chat",)))
    assert main(["keys", "list", "--state-dir", str(tmp_path)]) == 0
    assert main(["keys", "revoke", "\x1b[2Jnone", "--state-dir", str(tmp_path)]) == 1
    assert main(["check-config", str(tmp_path / "\x1b[2J")]) == 78
    said = "".join(capsys.readouterr())
    assert "ann]0;owned31m bob" in said and not {"\x1b", "\x07", "\x9b"} & set(said)
    assert len(said.splitlines()) == 4


def test_commands_print_nothing_that_was_not_cleaned() -> None:
    """Whatever is written in another way than with `say` goes through `for_terminal`, `one_line` or `Paint`."""
    cleans = ("for_terminal", "one_line", "paint", "Paint", "_format_json", "readable")
    for path in (ROOT / "gateway" / "cli").glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "write":
                text = ast.unparse(call)
                stream = ast.unparse(call.func.value)
                if stream not in ("sys.stdout", "sys.stderr", "out", "notes", "watch") or path.name == "options.py":
                    continue
                is_constant = isinstance(call.args[0], ast.Constant)
                assert is_constant or any(name in text for name in cleans) or text in OWN_TEXTS, f"{path.name}: {text}"


OWN_TEXTS = {
    "sys.stdout.write(text + '\\n')",  # of `call`: `readable` and `_format_json` have cleaned it
    "sys.stdout.write(page if arguments.roff else _plain(page))",  # the manual
}


def commands(root: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, set[str]]]:
    inner = [action for action in root._actions if isinstance(action, argparse._SubParsersAction)]
    for action in inner:
        for word, below in action.choices.items():
            yield from commands(below, f"{name} {word}".strip())
    if not inner:
        yield name, set(root._option_string_actions)


def test_every_command_with_an_answer_gives_it_as_json() -> None:
    without = {name for name, options in commands(whole_parser()) if "--json" not in options}
    assert without == WITHOUT_ANSWER


def rows(*words: str, code: int = 0, text: str = "") -> list[dict[str, object]]:
    done = subprocess.run([*GATEWAY, *words], capture_output=True, text=True, input=text, check=False)
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


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
