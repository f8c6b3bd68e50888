"""The table of commands: which module has each. Imports none of them before it is named."""

import argparse
import importlib

from gateway import __version__

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


def parser(word: str) -> argparse.ArgumentParser:
    """The parser of the command `word`, or of all commands if there is no such command."""
    root = argparse.ArgumentParser(
        prog="gateway",
        description="One authenticated HTTP gateway for models and agents.",
        epilog="`gateway COMMAND --help` says more, with examples. Exit codes: 0 done, 1 failed, 2 wrong usage, "
        "3 some of several files failed, 69 an engine is not installed, 78 the configuration is wrong, "
        "130 interrupted.",
    )
    root.add_argument("--version", action="version", version=f"gateway {__version__}")
    parsers = root.add_subparsers(required=True, metavar="COMMAND")
    names = [_MODULES[word]] if word in _MODULES else dict.fromkeys(_MODULES.values())
    for name in names:
        importlib.import_module(name).add_commands(parsers)
    return root
