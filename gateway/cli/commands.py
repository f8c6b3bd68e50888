"""The table of commands: which module has each. Imports none of them before it is named."""

import argparse
import importlib
from collections.abc import Mapping

from gateway import __version__

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

_MODULES = {
    "serve": "gateway.cli.serve",
    "worker": "gateway.cli.worker",
    "llm-server": "gateway.cli.engine_servers",
    "ocr-server": "gateway.cli.engine_servers",
    "check-config": "gateway.cli.check",
    "print-config": "gateway.cli.check",
    "doctor": "gateway.cli.doctor",
    "reload": "gateway.cli.service",
    "upgrade": "gateway.cli.service",
    "backup": "gateway.cli.backup",
    "restore": "gateway.cli.backup",
    "keys": "gateway.cli.keys",
    "usage": "gateway.cli.usage",
    "client-config": "gateway.cli.client_config",
    "chat": "gateway.cli.chat",
    "search": "gateway.cli.tools",
    "call": "gateway.cli.tools",
    "extract": "gateway.cli.extract",
    "crawl": "gateway.cli.crawl",
    "index": "gateway.cli.tools",
    "sanitize": "gateway.cli.tools",
    "ocr": "gateway.cli.tools",
    "completion": "gateway.cli.completion",
    "manual": "gateway.cli.completion",
}
"""Command -> the module that has it, whose function `add_commands` adds its parsers."""


_EXAMPLES = {
    "serve": "gateway serve --config gateway.toml --state-dir var",
    "llm-server": "gateway llm-server --port 9001",
    "ocr-server": "gateway ocr-server --port 9002",
    "check-config": "gateway check-config /etc/gateway/gateway.toml",
    "print-config": "gateway print-config gateway.toml",
    "doctor": "gateway doctor",
    "reload": "gateway reload",
    "upgrade": "gateway upgrade",
    "backup": "gateway backup /var/backups/gateway.tar",
    "restore": "gateway restore /var/backups/gateway.tar",
    "keys": "gateway keys list",
    "keys create": "gateway keys create --name crawler --scope web-search --expires 90d",
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
    "index copy": "gateway index copy --to postgres --config gateway.toml",
    "sanitize": "git diff | gateway sanitize --check",
    "ocr": "gateway ocr scans/ --out texts --format md",
    "completion": 'eval "$(gateway completion bash)"',
    "manual": "gateway manual | man -l -",
}
"""What the help of each command ends with."""


def parser(word: str) -> argparse.ArgumentParser:
    """The parser of the command `word`, or of all commands if there is no such command."""
    root = argparse.ArgumentParser(
        prog="gateway",
        description="One authenticated HTTP gateway for models and agents.",
        epilog="`gateway COMMAND --help` says more, with examples. Exit codes: "
        + ", ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())
        + ".",
    )
    root.add_argument("--version", action="version", version=f"gateway {__version__}")
    parsers = root.add_subparsers(required=True, metavar="COMMAND")
    names = [_MODULES[word]] if word in _MODULES else dict.fromkeys(_MODULES.values())
    for name in names:
        importlib.import_module(name).add_commands(parsers)
    _give_examples(parsers.choices, "")
    return root


def _give_examples(commands: Mapping[str, argparse.ArgumentParser], before: str) -> None:
    for name, each in commands.items():
        if example := _EXAMPLES.get(before + name):
            each.epilog = f"example: {example}"
        for action in each._actions:
            if isinstance(action, argparse._SubParsersAction):
                _give_examples(action.choices, f"{name} ")
