"""`gateway worker`: only a supervisor starts it, as its fork server, and asks it for workers over standard input."""

import argparse

from gateway.cli.argument_types import Parsers
from gateway.config.environment import Environment
from gateway.runtime.fork_server import run_spawned


def add_commands(parsers: Parsers) -> None:
    """Add `worker`; without a help text it is not listed."""
    parsers.add_parser("worker").set_defaults(command=_worker)


def _worker(arguments: argparse.Namespace, environment: Environment) -> int:
    return run_spawned()
