"""The command line: parses arguments and calls the command. Does no work of its own beyond printing.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted; from sysexits.h 69, an engine is not installed, and 78,
the configuration is wrong.
"""

import argparse
import sys
from pathlib import Path

from gateway import __version__
from gateway.cli import call
from gateway.cli import local as commands
from gateway.cli.argument_types import Command, Parsers, add_state_options, count, port
from gateway.cli.keys import add_key_commands
from gateway.cli.ocr import OcrOptions
from gateway.config.dump import config_text
from gateway.config.environment import Environment, read_environment
from gateway.config.loader import ConfigError, load_config
from gateway.config.settings import Config
from gateway.embedded import llm_server
from gateway.errors import EngineMissing, GatewayError
from gateway.ocr.server import app as ocr_server
from gateway.runtime import supervisor, worker

EX_FAILED, EX_USAGE, EX_UNAVAILABLE, EX_CONFIG = 1, 2, 69, 78


def main(argv: list[str] | None = None) -> int:
    """Run the command in `argv`, by default that of the process. Returns its exit code; exits with 2 for wrong
    usage."""
    arguments = _parser().parse_args(argv)
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gateway", description="One authenticated HTTP gateway for models and agents."
    )
    parser.add_argument("--version", action="version", version=f"gateway {__version__}")
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_server_commands(parsers)
    add_key_commands(parsers)
    _add_tool_commands(parsers)
    return parser


def _add_server_commands(parsers: Parsers) -> None:
    serve = parsers.add_parser("serve", help="run the server")
    add_state_options(serve)
    serve.set_defaults(command=_serve)
    # Only `serve` starts it, and writes its assignment to its standard input; without a help text it is not listed.
    parsers.add_parser("worker").set_defaults(command=_worker)
    check = parsers.add_parser("check-config", help="check a configuration file; exit 78 when it is wrong")
    check.add_argument("file", type=Path, metavar="FILE")
    check.set_defaults(command=_check_config)
    llm = parsers.add_parser("llm-server", help="run the embedded language model alone, on loopback")
    llm.add_argument("--port", type=port, required=True)
    llm.add_argument("--model", default="", metavar="FILE.gguf", help="default: the packaged one")
    llm.add_argument("--threads", type=count, default=0, help="0 = half as many as cores")
    llm.set_defaults(command=_llm_server)
    ocr = parsers.add_parser("ocr-server", help="run the embedded OCR engine alone, on loopback")
    ocr.add_argument("--port", type=port, required=True)
    ocr.add_argument("--threads", type=count, default=0, help="0 = as many as cores")
    ocr.add_argument("--nice", type=count, default=0, help="nice value of the process that reads (default 0)")
    ocr.set_defaults(command=_ocr_server)
    show = parsers.add_parser("print-config", help="show the configuration in force, without secrets")
    show.add_argument("file", type=Path, metavar="FILE", nargs="?")
    show.set_defaults(command=_print_config)


def _add_tool_commands(parsers: Parsers) -> None:
    tool = parsers.add_parser("call", help="call one web tool of a running gateway")
    tool.add_argument("tool", metavar="TOOL", help="search, extract, crawl, map or search_status")
    tool.add_argument("pairs", metavar="key=value", nargs="*", help="its arguments")
    tool.add_argument("--url", default="http://127.0.0.1:8080", help="default: %(default)s")
    tool.add_argument("--key", help="default: the contents of STATE_DIR/dev-key")
    tool.add_argument("--state-dir", type=Path, metavar="DIR")
    tool.add_argument("--json", action="store_true", help="the raw result")
    tool.set_defaults(command=_call)
    index = parsers.add_parser("index", help="manage the local search index")
    actions = index.add_subparsers(required=True, metavar="ACTION")
    add = actions.add_parser("add", help="add a site or a folder of documents, for every key")
    add.add_argument("source", metavar="URL|DIR")
    add.add_argument("--limit", type=count, default=1000, help="pages; default: %(default)s")
    add.set_defaults(command=_index_add)
    remove = actions.add_parser("remove", help="remove a page, all pages below a URL that ends with /, or a folder")
    remove.add_argument("url", metavar="URL|DIR")
    remove.set_defaults(command=_index_remove)
    stats = actions.add_parser("stats", help="show its size and age")
    stats.set_defaults(command=_index_stats)
    copy = actions.add_parser("copy", help="copy all pages from the other backend, those of every key")
    copy.add_argument("--to", required=True, choices=("sqlite", "postgres"), help="the backend that takes them")
    copy.set_defaults(command=_index_copy)
    for action in actions.choices.values():
        add_state_options(action)
    _add_text_commands(parsers)


def _add_text_commands(parsers: Parsers) -> None:
    clean = parsers.add_parser("sanitize", help="show what the sanitizer finds in a text")
    clean.add_argument("file", metavar="FILE", nargs="?", default="-", help="default: -, standard input")
    clean.add_argument("--profile", choices=("balanced", "strict"))
    clean.set_defaults(command=_sanitize)
    read = parsers.add_parser("ocr", help="read an image, a TIFF or a PDF")
    read.add_argument("source", metavar="FILE|URL")
    read.add_argument("--mode", default="", choices=("markdown", "free", "locate", "describe", "custom"))
    read.add_argument("--prompt", default="", help="for mode custom")
    read.add_argument("--grounding", action="store_true", help="custom: with boxes")
    read.add_argument("--find", default="", metavar="TEXT", help="for mode locate")
    read.add_argument("--overlay", type=Path, metavar="OUT.png", help="draw the boxes on the image")
    read.set_defaults(command=_ocr)
    for parser in (clean, read):
        add_state_options(parser)


def _config(arguments: argparse.Namespace, environment: Environment) -> Config:
    return load_config(arguments.config, arguments.state_dir, environment)


def _serve(arguments: argparse.Namespace, environment: Environment) -> int:
    def reload() -> Config:
        return _config(arguments, environment)

    return supervisor.serve(reload(), environment, reload)


def _worker(arguments: argparse.Namespace, environment: Environment) -> int:
    return worker.work()


def _llm_server(arguments: argparse.Namespace, environment: Environment) -> int:
    llm_server.serve(arguments.port, arguments.model, arguments.threads)
    return 0


def _ocr_server(arguments: argparse.Namespace, environment: Environment) -> int:
    ocr_server.serve(arguments.port, arguments.threads, arguments.nice)
    return 0


def _check_config(arguments: argparse.Namespace, environment: Environment) -> int:
    load_config(arguments.file, None, environment)
    sys.stdout.write(f"{arguments.file}: ok\n")
    return 0


def _print_config(arguments: argparse.Namespace, environment: Environment) -> int:
    sys.stdout.write(config_text(load_config(arguments.file, None, environment)))
    return 0


def _index_add(arguments: argparse.Namespace, environment: Environment) -> int:
    return commands.index_add(_config(arguments, environment), arguments.source, arguments.limit)


def _index_remove(arguments: argparse.Namespace, environment: Environment) -> int:
    return commands.index_remove(_config(arguments, environment), arguments.url)


def _index_stats(arguments: argparse.Namespace, environment: Environment) -> int:
    return commands.index_stats(_config(arguments, environment))


def _index_copy(arguments: argparse.Namespace, environment: Environment) -> int:
    return commands.index_copy(_config(arguments, environment), arguments.to)


def _sanitize(arguments: argparse.Namespace, environment: Environment) -> int:
    return commands.sanitize(_config(arguments, environment), arguments.file, arguments.profile)


def _ocr(arguments: argparse.Namespace, environment: Environment) -> int:
    options = OcrOptions(
        arguments.source, arguments.mode, arguments.prompt, arguments.grounding, arguments.find, arguments.overlay
    )
    return commands.ocr(_config(arguments, environment), options)


def _call(arguments: argparse.Namespace, environment: Environment) -> int:
    key = arguments.key
    if not key:
        file = (arguments.state_dir or environment.state_dir) / "dev-key"
        if not file.is_file():
            return _print_error(
                f"there is no key in {file}; give --key KEY, or --state-dir DIR with a dev-key in it", EX_USAGE
            )
        key = file.read_text().strip()
    return call.run(arguments.url, key, arguments.tool, arguments.pairs, raw=arguments.json)
