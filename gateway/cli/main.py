"""The command line: parses arguments and calls the command. Does no work of its own beyond printing.

Only the module of the command that was named is imported: a supervisor must stay small, and `check-config` quick.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 some of several files failed, 130 interrupted; from sysexits.h 69, an
engine is not installed, and 78, the configuration is wrong.
"""

import argparse
import importlib
import os
import sys

from gateway.cli.argument_types import EX_CONFIG, Command
from gateway.cli.commands import parser
from gateway.cli.terminal import BAD, Paint
from gateway.config.environment import Environment, read_environment
from gateway.config.loader import ConfigError
from gateway.errors import EngineMissing, GatewayError

EX_FAILED, EX_UNAVAILABLE, EX_PIPE = 1, 69, 141


def main(argv: list[str] | None = None) -> int:
    """Run the command in `argv`, by default that of the process. Returns its exit code; exits with 2 for wrong
    usage."""
    words = sys.argv[1:] if argv is None else argv
    if not words:
        parser("").print_help()
        return 0
    arguments = _parsed(words)
    command: Command = arguments.command
    environment = read_environment()
    if getattr(arguments, "as_service", False) and arguments.config is not None:
        find = importlib.import_module("gateway.cli.service_environment").environment_for
        environment = find(arguments.config, environment)
    try:
        return command(arguments, environment)
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
    sys.stderr.write(f"{Paint(sys.stderr, environment)(BAD, 'gateway:')} {message}\n")
    return code


def _parsed(words: list[str]) -> argparse.Namespace:
    """The arguments; `key=value` may stand after options too. Exits with 2 for wrong usage."""
    root = parser(words[0])
    arguments, rest = root.parse_known_args(words)
    pairs = getattr(arguments, "pairs", None)
    if rest and (pairs is None or any(word.startswith("-") or "=" not in word for word in rest)):
        root.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        arguments.pairs = [*(pairs or []), *rest]
    return arguments
