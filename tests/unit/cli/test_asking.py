"""Commands that ask a running gateway: how they find it, what they print, what they say when it refuses."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.cli import main as entry
from gateway.cli.call import connection
from gateway.cli.completion import command_lines, manual_page
from gateway.cli.main import parser, whole_parser
from gateway.cli.options import for_terminal
from gateway.config.environment import Environment


def arguments(*words: str) -> Any:
    return parser("chat").parse_args(["chat", *words, "hello"])


def test_options_win_over_variables_and_these_over_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "dev-key").write_text("gw_file\n")
    config = tmp_path / "gateway.toml"
    config.write_text("[server]\nport = 9999\nhost = '0.0.0.0'\n")
    there = ("--state-dir", str(tmp_path))
    variables = Environment({"GATEWAY_URL": "http://variable/", "GATEWAY_KEY": "gw_variable"})
    found = connection(arguments("--url", "http://option/", "--key", "gw_option", *there), variables)
    assert (found.url, found.key) == ("http://option", "gw_option")
    found = connection(arguments(*there), variables)
    assert (found.url, found.key) == ("http://variable", "gw_variable")
    found = connection(arguments("--config", str(config), *there), Environment({}))
    assert (found.url, found.key) == ("http://127.0.0.1:9999", "gw_file")
    assert connection(arguments(*there), Environment({})).url == "http://127.0.0.1:8080"
    assert "gw_file" not in repr(found)


def test_control_characters_of_an_answer_do_not_reach_the_terminal() -> None:
    assert for_terminal("a\x1b]0;title\x07b\r\tc\nd\x9b31m é😀") == "a]0;titleb\tc\nd31m é😀"


def test_every_command_has_help_and_stands_in_manual_and_completions(capsys: pytest.CaptureFixture[str]) -> None:
    commands = command_lines(whole_parser())
    manual = manual_page(commands)
    assert {"serve", "chat", "keys create", "index add"} <= {" ".join(each.words) for each in commands}
    for shell in ("bash", "zsh", "fish"):
        assert entry.main(["completion", shell]) == 0
        script = capsys.readouterr().out
        assert all(each.words[-1] in script for each in commands)
        assert "--tokens-per-day" in script or "-l tokens-per-day" in script
    for each in commands:
        epilog = each.parser.epilog or ""
        assert epilog.startswith("example: ") and f"gateway {each.words[0]}" in epilog, each.words
        assert ".SS " + " ".join(each.words).replace("-", "\\-") in manual
    assert entry.main(["manual", "--roff"]) == 0 and capsys.readouterr().out == manual
    assert entry.main(["manual"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("NAME\n") and "\n    keys create\n" in text and "\n            how " not in text
    assert not re.search(r"^\.|\\[-&]", text, re.MULTILINE)


@pytest.mark.slow
def test_the_script_for_bash_completes_commands_actions_options_and_values() -> None:
    script = f'eval "$({sys.executable} -m gateway completion bash)"; ' + (
        'try() { COMP_WORDS=(gateway "$@"); COMP_CWORD=$#; _gateway; echo "${COMPREPLY[@]}"; }; '
        "try ch; try keys cr; try keys create --sc; try ocr --mo; try completion f"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["chat check-config", "create", "--scope", "--mode", "fish"]
