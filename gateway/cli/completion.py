"""`gateway completion SHELL` and `gateway manual`: made from the parsers of all commands, so that none is missing.

The scripts complete commands, actions, options and fixed values, and file names elsewhere. Sources: bash(1)
"Programmable Completion", zshcompsys(1), fish-complete(1), man(7), read 2026-11-22.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gateway import __version__
from gateway.cli.main import EXIT_CODES, whole_parser
from gateway.cli.options import Parsers, say
from gateway.config.environment import Environment

_SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class CommandLine:
    """One command: the words that call it, its help, its parser."""

    words: tuple[str, ...]
    help: str
    parser: argparse.ArgumentParser

    @property
    def options(self) -> list[argparse.Action]:
        """What begins with a dash, but `--help`."""
        actions = self.parser._actions
        return [each for each in actions if each.option_strings and each.dest != "help"]

    @property
    def values(self) -> list[str]:
        """Fixed words that it takes: choices of its arguments, or its actions."""
        actions = self.parser._actions
        return [str(value) for each in actions if not each.option_strings for value in each.choices or ()]


def add_commands(parsers: Parsers) -> None:
    """Add `completion` and `manual`."""
    completion = parsers.add_parser("completion")
    completion.add_argument("shell", choices=_SHELLS)
    completion.set_defaults(command=_completion)
    manual = parsers.add_parser("manual")
    manual.add_argument("--roff", action="store_true", help="as a page for man: gateway manual --roff >gateway.1")
    manual.set_defaults(command=_manual)


def command_lines(parser: argparse.ArgumentParser) -> list[CommandLine]:
    """Every command of a parser and its actions, in the order of the help; without those that people do not call."""
    return [each for each in _walk(parser, ()) if each.help]


def _walk(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[CommandLine]:
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        helps = {each.dest: each.help or "" for each in action._choices_actions}
        for name, child in action.choices.items():
            yield CommandLine((*words, name), helps.get(name, ""), child)
            yield from _walk(child, (*words, name))


def _completion(arguments: argparse.Namespace, environment: Environment) -> int:
    scripts: dict[str, Callable[[list[CommandLine]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    say(scripts[arguments.shell](_all_commands()))
    return 0


def _all_commands() -> list[CommandLine]:
    return command_lines(whole_parser())


_BASH = """_gateway() {
    local current="${COMP_WORDS[COMP_CWORD]}" command="${COMP_WORDS[1]}" words=""
    if [ "$COMP_CWORD" -le 1 ]; then
        COMPREPLY=($(compgen -W "@TOPS@ --help --version" -- "$current"))
        return
    fi
    case " @WITH_ACTIONS@ " in
        *" $command "*) [ "$COMP_CWORD" -gt 2 ] && command="$command ${COMP_WORDS[2]}" ;;
    esac
    case "$command" in
@CASES@
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [ "${#COMPREPLY[@]}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _gateway gateway
"""
"""Offers the words of the longest command that was typed, else file names."""


def _bash(commands: list[CommandLine]) -> str:
    cases = []
    for each in commands:
        words = [name for option in each.options for name in option.option_strings] + each.values
        cases.append(f'        "{" ".join(each.words)}") words="{" ".join(words)}" ;;')
    tops = " ".join(each.words[0] for each in commands if len(each.words) == 1)
    with_actions = " ".join(sorted({each.words[0] for each in commands if len(each.words) == 2}))
    script = _BASH.replace("@TOPS@", tops).replace("@WITH_ACTIONS@", with_actions)
    return script.replace("@CASES@", "\n".join(cases))


def _zsh(commands: list[CommandLine]) -> str:
    """Zsh takes bash's script through its own layer."""
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(commands)


def _fish(commands: list[CommandLine]) -> str:
    lines = ["complete -c gateway -f"]
    actions: dict[str, list[str]] = {}
    for each in commands:
        if len(each.words) == 2:
            actions.setdefault(each.words[0], []).append(each.words[1])
    for each in commands:
        name, first = each.words[-1], each.words[0]
        where, within = "__fish_use_subcommand", f"__fish_seen_subcommand_from {name}"
        if len(each.words) == 2:
            others = " ".join(actions[first])
            where = f"__fish_seen_subcommand_from {first}; and not __fish_seen_subcommand_from {others}"
            within = f"__fish_seen_subcommand_from {first}; and __fish_seen_subcommand_from {name}"
        lines.append(f"complete -c gateway -n '{where}' -a {name} -d '{_one_line(each.help)}'")
        lines += [f"complete -c gateway -n '{within}' {_fish_option(option)}" for option in each.options]
        if first not in actions or len(each.words) == 2:
            values = f"-a '{' '.join(each.values)}'" if each.values else "-F"
            lines.append(f"complete -c gateway -n '{within}' {values}")
    return "\n".join(lines) + "\n"


def _fish_option(option: argparse.Action) -> str:
    long = next((word[2:] for word in option.option_strings if word.startswith("--")), option.dest)
    takes = (
        "" if option.nargs == 0 else f" -r -a '{' '.join(map(str, option.choices))}'" if option.choices else " -r -F"
    )
    return f"-l {long}{takes} -d '{_one_line(option.help or '')}'"


def _one_line(text: str) -> str:
    return " ".join(text.replace("%(default)s", "as documented").replace("%%", "%").replace("'", "’").split())


def _manual(arguments: argparse.Namespace, environment: Environment) -> int:
    page = manual_page(_all_commands())
    if not arguments.roff and sys.stdout.isatty() and (man := shutil.which("man")):
        return subprocess.run([man, "-l", "-"], input=page, text=True, check=False).returncode
    sys.stdout.write(page if arguments.roff else _plain(page))
    return 0


_INDENTS = {".SH ": "\n", ".SS ": "\n    ", ".B ": "        "}


def _plain(page: str) -> str:
    """A manual page as text, for a pipe, and a terminal without `man`."""
    lines, is_item = [], False
    for line in page.splitlines()[1:]:
        if line in (".TP", ".PP"):
            is_item = line == ".TP"
            continue
        macro = next((each for each in _INDENTS if line.startswith(each)), "")
        lines.append(_INDENTS.get(macro, "            " if is_item else "        ") + line.removeprefix(macro))
        is_item = is_item and macro == ".B "
    return "\n".join(lines).lstrip().replace("\\&", "").replace("\\-", "-") + "\n"


def manual_page(commands: list[CommandLine]) -> str:
    """gateway(1) in roff."""
    lines = [
        f'.TH GATEWAY 1 "" "gateway {__version__}"',
        ".SH NAME", r"gateway \- one authenticated HTTP gateway for models and agents",
        ".SH SYNOPSIS", ".B gateway COMMAND [options]",
        ".SH COMMANDS",
    ]  # fmt: skip
    for each in commands:
        usage = " ".join(each.parser.format_usage().removeprefix("usage: ").split())
        lines += [
            ".SS " + _roff(" ".join(each.words)),
            _roff(each.help.capitalize() + "."),
            ".PP",
            ".B " + _roff(usage),
        ]
        for option in each.options:
            value = "" if option.nargs == 0 else f" {option.metavar or option.dest.upper()}"
            text = (option.help or "").replace("%(default)s", str(option.default)).replace("%%", "%")
            lines += [
                ".TP",
                ".B " + _roff(", ".join(option.option_strings) + value),
                _roff(text or "see the documentation"),
            ]
        if each.parser.epilog:
            lines += [".PP", _roff(each.parser.epilog)]
    lines += [".SH EXIT STATUS"]
    for code, meaning in EXIT_CODES.items():
        lines += [".TP", f".B {code}", meaning]
    lines += [
        ".SH ENVIRONMENT", ".TP", ".B GATEWAY_URL", "address of the running gateway, for commands that call it",
        ".TP", ".B GATEWAY_KEY", "the key for it",
        ".TP", ".B STATE_DIRECTORY", "the state directory, by default ./var",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    """Text that roff takes as it is: a dot or a quote at its beginning would be a command."""
    plain = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + plain if plain.startswith((".", "'")) else plain
