"""`gateway reload` and `gateway upgrade`: ask the running service, and exit with what came of it.

`gateway worker`: only a supervisor starts it, as its fork server, and asks it for workers over standard input.
"""

import argparse
import sys
from pathlib import Path

from gateway.cli.options import Parsers, say
from gateway.cli.unit_files import RESTART
from gateway.config.environment import Environment
from gateway.runtime.control import NAME, ask
from gateway.runtime.fork_server import run_spawned

_RUNTIME_DIR = Path("/run/gateway")
"""`RuntimeDirectory=gateway` of the unit."""

_RELOAD_S = 85.0
_UPGRADE_S = 75.0
"""Time limit for the supervisor's answer. In between, this command can still print why the reload failed."""


def add_commands(parsers: Parsers) -> None:
    """Add `reload` and `upgrade`."""
    _add_worker(parsers)
    for command, timeout_s in (("reload", _RELOAD_S), ("upgrade", _UPGRADE_S)):
        parser = parsers.add_parser(command)
        parser.add_argument("--runtime-dir", type=Path, metavar="DIR", help=f"default: {_RUNTIME_DIR}")
        parser.set_defaults(command=_ask, name=command, timeout_s=timeout_s)


def _ask(arguments: argparse.Namespace, environment: Environment) -> int:
    folder = arguments.runtime_dir or environment.runtime_dir or _RUNTIME_DIR
    try:
        say(ask(folder / NAME, arguments.name, arguments.timeout_s) + "\n")
    finally:
        if arguments.name == "reload":
            say(f"credentials are those of the last start; where one has changed: {RESTART}\n", sys.stderr)
    return 0


def _add_worker(parsers: Parsers) -> None:
    """Add `worker`; without a help text it is not listed."""
    parsers.add_parser("worker").set_defaults(command=_worker)


def _worker(arguments: argparse.Namespace, environment: Environment) -> int:
    return run_spawned()
