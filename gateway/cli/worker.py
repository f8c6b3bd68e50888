"""`gateway worker`: only a supervisor starts it, and writes its assignment to its standard input."""

import argparse

from gateway.cli.argument_types import Parsers
from gateway.config.environment import Environment
from gateway.runtime import worker


def add_commands(parsers: Parsers) -> None:
    """Add `worker`; without a help text it is not listed."""
    parsers.add_parser("worker").set_defaults(command=_worker)


def _worker(arguments: argparse.Namespace, environment: Environment) -> int:
    return worker.work()
