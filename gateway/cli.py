"""The command line: arguments to commands. What a command does lives in the layer it belongs to.

Exit codes: 0 done, 1 failed, 2 wrong usage, 69 an engine is not installed, 78 the configuration is wrong (sysexits.h).
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from gateway import __version__, call
from gateway.config import Config, Environment, read_environment
from gateway.config_file import ConfigError, config_text, load_config
from gateway.errors import EngineMissing, GatewayError

EX_FAILED, EX_USAGE, EX_UNAVAILABLE, EX_CONFIG = 1, 2, 69, 78

Command = Callable[[argparse.Namespace, Environment], int]


def main(argv: list[str] | None = None) -> int:
    """Run one command. Returns its exit code."""
    arguments = _parser().parse_args(argv)
    command: Command = arguments.command
    try:
        return command(arguments, read_environment())
    except ConfigError as error:
        return _complain(str(error), EX_CONFIG)
    except EngineMissing as error:
        return _complain(error.message, EX_UNAVAILABLE)
    except GatewayError as error:
        return _complain(error.message, EX_FAILED)
    except KeyboardInterrupt:
        return 130


def _complain(message: str, code: int) -> int:
    sys.stderr.write(f"gateway: {message}\n")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gateway", description="One authenticated HTTP gateway for models and agents."
    )
    parser.add_argument("--version", action="version", version=f"gateway {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_server_commands(commands)
    _add_key_commands(commands)
    _add_tool_commands(commands)
    return parser


def _add_server_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    serve = commands.add_parser("serve", help="run the server")
    _add_state_options(serve)
    serve.set_defaults(command=_serve)
    check = commands.add_parser("check-config", help="check a configuration file; exit 78 when it is wrong")
    check.add_argument("file", type=Path, metavar="FILE")
    check.set_defaults(command=_check_config)
    show = commands.add_parser("print-config", help="show the configuration in force, secrets masked")
    show.add_argument("file", type=Path, metavar="FILE", nargs="?")
    show.set_defaults(command=_print_config)


def _add_state_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration file; none = the embedded profile")
    parser.add_argument("--state-dir", type=Path, metavar="DIR", help="default: $STATE_DIRECTORY, else ./var")


def _add_key_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    return None


def _add_tool_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    tool = commands.add_parser("call", help="one web tool of a running gateway")
    tool.add_argument("tool", metavar="TOOL", help="search, extract, crawl, map or search_status")
    tool.add_argument("pairs", metavar="key=value", nargs="*", help="its arguments")
    tool.add_argument("--url", default="http://127.0.0.1:8080", help="default: %(default)s")
    tool.add_argument("--key", help="default: the contents of STATE_DIR/dev-key")
    tool.add_argument("--state-dir", type=Path, metavar="DIR")
    tool.add_argument("--json", action="store_true", help="the raw result")
    tool.set_defaults(command=_call)


def _config(arguments: argparse.Namespace, environment: Environment) -> Config:
    return load_config(arguments.config, arguments.state_dir, environment)


def _serve(arguments: argparse.Namespace, environment: Environment) -> int:
    raise NotImplementedError


def _check_config(arguments: argparse.Namespace, environment: Environment) -> int:
    load_config(arguments.file, None, environment)
    sys.stdout.write(f"{arguments.file}: ok\n")
    return 0


def _print_config(arguments: argparse.Namespace, environment: Environment) -> int:
    sys.stdout.write(config_text(load_config(arguments.file, None, environment)))
    return 0


def _call(arguments: argparse.Namespace, environment: Environment) -> int:
    key = arguments.key
    if not key:
        file = (arguments.state_dir or environment.state_dir) / "dev-key"
        if not file.is_file():
            return _complain(
                f"no key: give --key KEY, or --state-dir with a dev-key in it ({file} is missing)", EX_USAGE
            )
        key = file.read_text().strip()
    return call.run(arguments.url, key, arguments.tool, arguments.pairs, raw=arguments.json)
