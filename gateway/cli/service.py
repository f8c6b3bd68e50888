"""`gateway reload` and `gateway upgrade`: ask the running service, and exit with what came of it."""

import argparse
import sys
from pathlib import Path

from gateway.cli.argument_types import Parsers
from gateway.config.environment import Environment
from gateway.runtime.control import NAME, ask

_RUNTIME_DIR = Path("/run/gateway")
"""`RuntimeDirectory=gateway` of the unit."""

_RELOAD_S = 85.0
_UPGRADE_S = 75.0
"""How long the answer may take: a little longer than the supervisor gives new workers (60 s) or a new program (60 s).
Chosen below the 90 s after which systemd itself ends a reload, so that its reason is told."""


def add_commands(parsers: Parsers) -> None:
    """Add `reload` and `upgrade`."""
    for command, text, timeout_s in (
        ("reload", "have the running service read its configuration again; fails if it refuses", _RELOAD_S),
        ("upgrade", "have the running service replaced by the program as it is installed now", _UPGRADE_S),
    ):
        parser = parsers.add_parser(command, help=text)
        parser.add_argument("--runtime-dir", type=Path, metavar="DIR", help=f"default: {_RUNTIME_DIR}")
        parser.set_defaults(command=_ask, name=command, timeout_s=timeout_s)


def _ask(arguments: argparse.Namespace, environment: Environment) -> int:
    folder = arguments.runtime_dir or environment.runtime_dir or _RUNTIME_DIR
    sys.stdout.write(ask(folder / NAME, arguments.name, arguments.timeout_s) + "\n")
    return 0
