"""The command line: parses arguments and calls the command. Does no work of its own beyond printing.

Only the module of the command that was named is imported: a supervisor must stay small, and `check-config` quick.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 some of several files failed, 130 interrupted; from sysexits.h 69, an
engine is not installed, and 78, the configuration is wrong.
"""

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Mapping

from gateway import __version__
from gateway.cli.options import BAD, EX_CONFIG, Command, Paint, for_terminal
from gateway.config.environment import Environment, read_environment
from gateway.config.loader import ConfigError
from gateway.errors import EngineMissing, GatewayError

EXIT_CODES = {
    0: "done",
    1: "failed",
    2: "wrong usage",
    3: "some of several files failed",
    69: "an engine is not installed",
    78: "the configuration is wrong",
    130: "interrupted",
}
"""What each exit code of a command means; 69 and 78 are those of sysexits.h."""

_COMMANDS = {
    "chat": ("call", "ask a model of a running gateway"),
    "search": ("call", "search with a running gateway"),
    "extract": ("extract", "print the text of web pages, rendered in a browser where they need it"),
    "crawl": (
        "extract",
        "write a site into a folder, one Markdown file for each page; a second run fetches what has changed",
    ),
    "ocr": ("ocr", "read images, TIFFs and PDFs"),
    "sanitize": ("sanitize", "show what the sanitizer finds in a text"),
    "call": ("call", "call one web tool of a running gateway"),
    "index": ("extract", "manage the local search index"),
    "client-config": ("client_config", "print the configuration of a client for this gateway"),
    "keys": ("keys", "manage API keys"),
    "usage": ("keys", "show what keys, models and tools have used, by day"),
    "serve": ("serve", "run the server"),
    "check-config": ("check", "check a configuration file; exit 78 when it is wrong"),
    "print-config": ("check", "show the configuration in force, without secrets"),
    "doctor": ("doctor", "look at the whole installation, and say what is wrong"),
    "reload": ("service", "have the running service read its configuration again; fails if it refuses"),
    "upgrade": ("service", "have the running service replaced by the program as it is installed now"),
    "backup": ("backup", "save keys, secrets and databases in one file; the gateway may run"),
    "restore": ("backup", "put a backup in place of what is there; stop the gateway first"),
    "llm-server": ("engine_servers", "run the embedded language model alone, on loopback"),
    "ocr-server": ("engine_servers", "run the embedded OCR engine alone, on loopback"),
    "completion": ("completion", "print a script that completes commands in a shell"),
    "manual": ("completion", "show the manual page; with --roff, print it for man"),
    "worker": ("service", ""),
}
"""Command -> the module of `gateway.cli` that has it, whose function `add_commands` adds its parsers, and its help: it
stands here, so that `gateway --help` imports none of them. In the order of the help: first what people use most."""

_OF_NO_GATEWAY = ("serve", "worker", "llm-server", "ocr-server", "completion", "manual", "check-config", "doctor")
"""Commands for which no installation is looked for; the last two look themselves, at what is wrong with it too."""

_EXAMPLES = {
    "serve": "gateway serve --upstream http://127.0.0.1:8000/v1",
    "llm-server": "gateway llm-server --port 9001",
    "ocr-server": "gateway ocr-server --port 9002",
    "check-config": "gateway check-config /etc/gateway/gateway.toml",
    "print-config": "gateway print-config",
    "doctor": "gateway doctor",
    "reload": "gateway reload",
    "upgrade": "gateway upgrade",
    "backup": "gateway backup /var/backups/gateway.tar",
    "restore": "gateway restore /var/backups/gateway.tar",
    "keys": "gateway keys list",
    "keys create": "gateway keys create --name crawler --scope web-search --expires 90d",
    "keys edit": "gateway keys edit xqrd3myy --per-minute 60 --expires never",
    "keys show": "gateway keys show xqrd3myy",
    "keys list": "gateway keys list --json",
    "keys revoke": "gateway keys revoke xqrd3myy",
    "keys erase": "gateway keys erase xqrd3myy",
    "keys rotate": "gateway keys rotate xqrd3myy",
    "keys import": "gateway keys import old/keys.json",
    "usage": "gateway usage --since 7d --by day,model",
    "client-config": "gateway client-config codex",
    "chat": 'git diff | gateway chat "Write a commit message for this:" -',
    "search": "gateway search --max-results 3 how long until a revoked key is refused",
    "call": 'gateway call extract urls=https://example.com/ query="who owns it"',
    "extract": "gateway extract https://example.com/ --out pages",
    "crawl": "gateway crawl https://docs.example.com/ --out site --limit 200 --delay 1",
    "index": "gateway index add https://docs.example.com/",
    "index add": "gateway index add handbook/",
    "index remove": "gateway index remove https://docs.example.com/old/",
    "index stats": "gateway index stats",
    "index copy": "gateway index copy --to postgres",
    "sanitize": "git diff | gateway sanitize --check",
    "ocr": "gateway ocr scans/ --out texts --format md",
    "completion": 'eval "$(gateway completion bash)"',
    "manual": "gateway manual",
}
"""What the help of each command ends with."""


def parser(*words: str) -> argparse.ArgumentParser:
    """The parser of these commands; the help lists all."""
    root = argparse.ArgumentParser(
        prog="gateway",
        description="One authenticated HTTP gateway for models and agents.",
        epilog="`gateway COMMAND --help` says more, with examples. Exit codes: "
        + ", ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())
        + ".",
    )
    root.add_argument("--version", action="version", version=f"gateway {__version__}")
    parsers = root.add_subparsers(required=True, metavar="COMMAND")
    for name in dict.fromkeys(_COMMANDS[word][0] for word in words):
        importlib.import_module(f"gateway.cli.{name}").add_commands(parsers)
    parsers._choices_actions = [
        parsers._ChoicesPseudoAction(name, (), text) for name, (_, text) in _COMMANDS.items() if text
    ]
    _give_examples(parsers.choices, "")
    return root


def whole_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    return parser(*_COMMANDS)


def _give_examples(commands: Mapping[str, argparse.ArgumentParser], before: str) -> None:
    for name, each in commands.items():
        if example := _EXAMPLES.get(before + name):
            each.epilog = f"example: {example}"
        for action in each._actions:
            if isinstance(action, argparse._SubParsersAction):
                _give_examples(action.choices, f"{name} ")


EX_FAILED, EX_UNAVAILABLE, EX_PIPE = 1, 69, 141


def main(argv: list[str] | None = None) -> int:
    """Run the command in `argv`, by default that of the process. Returns its exit code; exits with 2 for wrong
    usage."""
    words = sys.argv[1:] if argv is None else argv
    if not words:
        parser().print_help()
        return 0
    arguments = _parsed(words)
    arguments.line = words
    command: Command = arguments.command
    environment = read_environment()
    if getattr(arguments, "config", environment.config_file) is None:
        arguments.config = environment.config_file
    try:
        if words[0] not in _OF_NO_GATEWAY:
            find = importlib.import_module("gateway.cli.installation").found
            environment = find(words[0], arguments, environment)
        code: int = command(arguments, environment)
        sys.stdout.flush()  # a reader that has left is met here, not at the interpreter's end
        return code
    except ConfigError as error:
        return _print_error(environment, str(error), EX_CONFIG)
    except EngineMissing as error:
        return _print_error(environment, error.message, EX_UNAVAILABLE)
    except GatewayError as error:
        return _print_error(environment, error.message, EX_FAILED)
    except BrokenPipeError:  # whoever read the output has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is not written at exit either
        return EX_PIPE
    except OSError as error:  # e.g. a file that may not be written, or a full disk
        message = f"{error.filename or 'failed'}: {error.strerror or type(error).__name__}"
        return _print_error(environment, message, EX_FAILED)
    except KeyboardInterrupt:
        return 130


def _print_error(environment: Environment, message: str, code: int) -> int:
    sys.stderr.write(f"{Paint(sys.stderr, environment)(BAD, 'gateway:')} {for_terminal(message)}\n")
    return code


def _parsed(words: list[str]) -> argparse.Namespace:
    """The arguments; `key=value` may stand after options too. Exits with 2 for wrong usage."""
    root = parser(*(word for word in words[:1] if word in _COMMANDS))
    if words[0] not in _COMMANDS and not words[0].startswith("-"):
        close = difflib.get_close_matches(words[0], [name for name in _COMMANDS if name != "worker"], 1)
        root.error(f"there is no command '{words[0]}'{f'; did you mean {close[0]}?' if close else ''}")
    arguments, rest = root.parse_known_args(words)
    pairs = getattr(arguments, "pairs", None)
    if rest and (pairs is None or any(word.startswith("-") or "=" not in word for word in rest)):
        options = next(action.choices for action in root._actions if isinstance(action, argparse._SubParsersAction))
        options[words[0]].error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        arguments.pairs = [*(pairs or []), *rest]
    return arguments
