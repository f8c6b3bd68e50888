"""Commands that ask a running gateway: how they find it, what they print, what they say when it refuses."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.cli import main as entry
from gateway.cli.call import connection
from gateway.cli.completion import command_lines, manual_page
from gateway.cli.main import parser
from gateway.cli.options import for_terminal
from gateway.config.environment import Environment
from gateway.errors import InvalidRequest
from tests.support.gateways import StartGateway, upstream_toml
from tests.support.upstream import answer, chunk, scripted_upstream, stream, text_stream


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


def test_a_missing_key_says_the_three_ways_to_give_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"--key, set GATEWAY_KEY, or name its folder with --state-dir"):
        connection(arguments("--state-dir", str(tmp_path)), Environment({}))


async def command(*words: str, given: str = "") -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", *words,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(given.encode()), 60)
    return process.returncode or 0, out.decode(), err.decode()


@pytest.mark.slow
async def test_an_answer_is_printed_as_it_comes_with_its_sources(start_gateway: StartGateway) -> None:
    note = {"type": "url_citation", "url_citation": {"url": "https://a.example/", "title": "A"}}
    pieces = text_stream(("Hello", " there"))
    async with scripted_upstream() as upstream:
        upstream.will(stream(*pieces[:-1], chunk({"annotations": [note]}), pieces[-1]), answer(status=400, data={}))
        server = await start_gateway(upstream_toml(upstream.url))
        where = ("--url", server.url, "--key", server.key)
        code, out, err = await command("chat", *where, "say", "-", given="hello\n")
        assert (code, err) == (0, "") and out.startswith("Hello there\n")
        assert upstream.last.body["messages"] == [{"role": "user", "content": "say hello"}]
        code, out, err = await command("chat", *where, "--system", "Be brief.", "again")
        assert code == 1 and err.startswith("gateway: ")


@pytest.mark.slow
async def test_a_search_prints_results_and_pairs_may_follow_options(start_gateway: StartGateway) -> None:
    server = await start_gateway("")
    where = ("--url", server.url, "--key", server.key)
    code, out, _ = await command("search", *where, "nothing", "like", "this")
    assert code == 0 and out.startswith("nothing found")
    code, out, _ = await command("call", "search", *where, "--json", "query=nothing", "max_results=1")
    assert code == 0 and '"success": true' in out
    code, _, err = await command("call", "search", *where, "--bogus", "query=x")
    assert code == 2 and "--bogus" in err
    code, _, err = await command("search", "--url", "http://127.0.0.1:9", "--key", "k", "x")
    assert code == 1 and "start `gateway serve`" in err


def test_control_characters_of_an_answer_do_not_reach_the_terminal() -> None:
    assert for_terminal("a\x1b]0;title\x07b\r\tc\nd\x9b31m é😀") == "a]0;titleb\tc\nd31m é😀"


def test_gateway_alone_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main([]) == 0
    told = capsys.readouterr().out
    assert "chat" in told and "Exit codes" in told


def test_every_command_has_help_and_stands_in_the_manual_and_the_completions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    commands = command_lines(parser(""))
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
    assert entry.main(["manual"]) == 0 and capsys.readouterr().out == manual


@pytest.mark.slow
def test_the_script_for_bash_completes_commands_actions_options_and_values() -> None:
    script = f'eval "$({sys.executable} -m gateway completion bash)"; ' + (
        'try() { COMP_WORDS=(gateway "$@"); COMP_CWORD=$#; _gateway; echo "${COMPREPLY[@]}"; }; '
        "try ch; try keys cr; try keys create --sc; try ocr --mo; try completion f"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["chat check-config", "create", "--scope", "--mode", "fish"]
