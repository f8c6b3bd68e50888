"""`gateway check-config` and `print-config`."""

import argparse
import sys
from pathlib import Path

from gateway.cli.argument_types import Parsers
from gateway.config.dump import config_text
from gateway.config.environment import Environment
from gateway.config.loader import load_config


def add_commands(parsers: Parsers) -> None:
    """Add both."""
    check = parsers.add_parser("check-config", help="check a configuration file; exit 78 when it is wrong")
    check.add_argument("file", type=Path, metavar="FILE")
    check.set_defaults(command=_check_config)
    show = parsers.add_parser("print-config", help="show the configuration in force, without secrets")
    show.add_argument("file", type=Path, metavar="FILE", nargs="?")
    show.set_defaults(command=_print_config)


def _check_config(arguments: argparse.Namespace, environment: Environment) -> int:
    load_config(arguments.file, None, environment)
    sys.stdout.write(f"{arguments.file}: ok\n")
    return 0


def _print_config(arguments: argparse.Namespace, environment: Environment) -> int:
    sys.stdout.write(config_text(load_config(arguments.file, None, environment)))
    return 0
