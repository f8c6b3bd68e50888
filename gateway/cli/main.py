"""The command line: parses arguments and calls the command. Does no work of its own beyond printing.

Only the module of the command that was named is imported: a supervisor must stay small, and `check-config` quick.
Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted; from sysexits.h 69, an engine is not installed, and 78,
the configuration is wrong.
"""

import argparse
import importlib
import sys

from gateway import __version__
from gateway.cli.argument_types import Command
from gateway.config.config_error import ConfigError
from gateway.config.environment import read_environment
from gateway.errors import EngineMissing, GatewayError

EX_FAILED, EX_UNAVAILABLE, EX_CONFIG = 1, 69, 78

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
    "call": "gateway.cli.tools",
    "index": "gateway.cli.tools",
    "extract": "gateway.cli.extract",
    "sanitize": "gateway.cli.tools",
    "ocr": "gateway.cli.tools",
}
"""Command -> the module that has it, whose function `add_commands` adds its parsers."""


def main(argv: list[str] | None = None) -> int:
    """Run the command in `argv`, by default that of the process. Returns its exit code; exits with 2 for wrong
    usage."""
    words = sys.argv[1:] if argv is None else argv
    arguments = _parser(words[0] if words else "").parse_args(words)
    command: Command = arguments.command
    try:
        return command(arguments, read_environment())
    except ConfigError as error:
        return _print_error(str(error), EX_CONFIG)
    except EngineMissing as error:
        return _print_error(error.message, EX_UNAVAILABLE)
    except GatewayError as error:
        return _print_error(error.message, EX_FAILED)
    except OSError as error:  # e.g. a file that may not be written, or a full disk
        return _print_error(f"{error.filename or 'failed'}: {error.strerror or type(error).__name__}", EX_FAILED)
    except KeyboardInterrupt:
        return 130


def _print_error(message: str, code: int) -> int:
    sys.stderr.write(f"gateway: {message}\n")
    return code


def _parser(word: str) -> argparse.ArgumentParser:
    """The parser of the command `word`, or of all commands if there is no such command."""
    parser = argparse.ArgumentParser(
        prog="gateway", description="One authenticated HTTP gateway for models and agents."
    )
    parser.add_argument("--version", action="version", version=f"gateway {__version__}")
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    names = [_MODULES[word]] if word in _MODULES else dict.fromkeys(_MODULES.values())
    for name in names:
        importlib.import_module(name).add_commands(parsers)
    return parser
