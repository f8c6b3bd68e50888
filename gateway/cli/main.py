"""The command line: arguments to commands. What a command does lives in the layer it belongs to.

Exit codes: 0 done, 1 failed, 2 wrong usage, 69 an engine is not installed, 78 the configuration is wrong (sysexits.h).
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from gateway import __version__
from gateway.access.api_keys import KeyFile, KeyRecord, KeyRequest
from gateway.cli import call
from gateway.cli import local as commands
from gateway.cli.ocr import OcrOptions
from gateway.config.dump import config_text
from gateway.config.environment import Environment, read_environment
from gateway.config.loader import ConfigError, load_config
from gateway.config.settings import Access, Config
from gateway.domain import SCOPES
from gateway.embedded import llm_server
from gateway.errors import EngineMissing, GatewayError
from gateway.ocr.server import app as ocr_server
from gateway.runtime import supervisor, worker

EX_FAILED, EX_USAGE, EX_UNAVAILABLE, EX_CONFIG = 1, 2, 69, 78

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
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
    except OSError as error:  # a file that may not be written, a full disk: the operator's to mend
        return _complain(f"{error.filename or 'failed'}: {error.strerror or type(error).__name__}", EX_FAILED)
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
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_server_commands(parsers)
    _add_key_commands(parsers)
    _add_tool_commands(parsers)
    return parser


def _add_server_commands(parsers: Parsers) -> None:
    serve = parsers.add_parser("serve", help="run the server")
    _add_state_options(serve)
    serve.set_defaults(command=_serve)
    # Started by `serve` alone, which writes to its standard input; without a help text it is not listed.
    parsers.add_parser("worker").set_defaults(command=_worker)
    check = parsers.add_parser("check-config", help="check a configuration file; exit 78 when it is wrong")
    check.add_argument("file", type=Path, metavar="FILE")
    check.set_defaults(command=_check_config)
    llm = parsers.add_parser("llm-server", help="the embedded language model alone, on loopback")
    llm.add_argument("--port", type=_port, required=True)
    llm.add_argument("--model", default="", metavar="FILE.gguf", help="default: the packaged one")
    llm.add_argument("--threads", type=_count, default=0, help="0 = half as many as cores")
    llm.set_defaults(command=_llm_server)
    ocr = parsers.add_parser("ocr-server", help="the embedded OCR engine alone, on loopback")
    ocr.add_argument("--port", type=_port, required=True)
    ocr.add_argument("--threads", type=_count, default=0, help="0 = as many as cores")
    ocr.add_argument("--nice", type=_count, default=0, help="nice value of the process that reads (default 0)")
    ocr.set_defaults(command=_ocr_server)
    show = parsers.add_parser("print-config", help="show the configuration in force, secrets masked")
    show.add_argument("file", type=Path, metavar="FILE", nargs="?")
    show.set_defaults(command=_print_config)


def _add_state_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration file; none = the embedded profile")
    parser.add_argument("--state-dir", type=Path, metavar="DIR", help="default: $STATE_DIRECTORY, else ./var")


def _add_key_commands(parsers: Parsers) -> None:
    keys = parsers.add_parser("keys", help="API keys")
    actions = keys.add_subparsers(required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make a key; it is printed once, alone on standard output")
    create.add_argument("--name", required=True, help="whose it is, for people")
    create.add_argument("--scope", action="append", required=True, choices=SCOPES, help="repeat for several")
    create.add_argument(
        "--expires", type=_duration_s, metavar="90d", help="90d, 12h, 30m or 60s from now; default: never"
    )
    create.add_argument("--per-minute", type=_count, metavar="N", help="calls a minute; 0 = no limit")
    create.add_argument("--concurrent", type=_count, metavar="N", help="requests at once; 0 = no limit")
    create.set_defaults(command=_keys_create)
    listing = actions.add_parser("list", help="every key, without its secret")
    listing.set_defaults(command=_keys_list)
    for name, command, text in (
        ("revoke", _keys_revoke, "end a key; a running server refuses it within 5 s"),
        ("rotate", _keys_rotate, "a new key with the rights of an old one, which stays until it is revoked"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("id", metavar="ID")
        action.set_defaults(command=command)
    for action in actions.choices.values():
        _add_state_options(action)
        action.add_argument("--keys-file", type=Path, metavar="FILE")


def _duration_s(text: str) -> int:
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    if not (text[:-1].isdigit() and text[-1:] in units and int(text[:-1])):
        raise argparse.ArgumentTypeError("give a number and a unit: 90d, 12h, 30m or 60s")
    return int(text[:-1]) * units[text[-1]]


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError("give a whole number, 0 or more")
    return int(text)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65_535):
        raise argparse.ArgumentTypeError("give a port, 1 to 65535")
    return int(text)


def _add_tool_commands(parsers: Parsers) -> None:
    tool = parsers.add_parser("call", help="one web tool of a running gateway")
    tool.add_argument("tool", metavar="TOOL", help="search, extract, crawl, map or search_status")
    tool.add_argument("pairs", metavar="key=value", nargs="*", help="its arguments")
    tool.add_argument("--url", default="http://127.0.0.1:8080", help="default: %(default)s")
    tool.add_argument("--key", help="default: the contents of STATE_DIR/dev-key")
    tool.add_argument("--state-dir", type=Path, metavar="DIR")
    tool.add_argument("--json", action="store_true", help="the raw result")
    tool.set_defaults(command=_call)
    index = parsers.add_parser("index", help="the local search index")
    actions = index.add_subparsers(required=True, metavar="ACTION")
    add = actions.add_parser("add", help="bring in a site or a folder of documents, for every key")
    add.add_argument("source", metavar="URL|DIR")
    add.add_argument("--limit", type=_count, default=1000, help="pages; default: %(default)s")
    add.set_defaults(command=_index_add)
    remove = actions.add_parser("remove", help="take out a page, or all below a URL that ends with / or in a folder")
    remove.add_argument("url", metavar="URL|DIR")
    remove.set_defaults(command=_index_remove)
    stats = actions.add_parser("stats", help="size and age")
    stats.set_defaults(command=_index_stats)
    for action in actions.choices.values():
        _add_state_options(action)
    _add_text_commands(parsers)


def _add_text_commands(parsers: Parsers) -> None:
    clean = parsers.add_parser("sanitize", help="what the sanitizer finds in a text")
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
        _add_state_options(parser)


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


def _key_file(arguments: argparse.Namespace, environment: Environment) -> KeyFile:
    if arguments.keys_file is not None:
        return KeyFile((arguments.state_dir or environment.state_dir) / arguments.keys_file)
    if arguments.config is None:
        return KeyFile((arguments.state_dir or environment.state_dir) / Access().keys_file)
    config = _config(arguments, environment)
    return KeyFile(config.state_dir / config.access.keys_file)


def _keys_create(arguments: argparse.Namespace, environment: Environment) -> int:
    wish = KeyRequest(
        arguments.name, tuple(arguments.scope), arguments.expires, arguments.per_minute, arguments.concurrent
    )
    key, record = _key_file(arguments, environment).create(wish)
    return _show_key(key, record)


def _show_key(key: str, record: KeyRecord) -> int:
    sys.stderr.write(f"key {record.id} for {record.name}, scopes {', '.join(record.scopes)}; it is not shown again:\n")
    sys.stdout.write(key + "\n")
    return 0


def _keys_list(arguments: argparse.Namespace, environment: Environment) -> int:
    for record in _key_file(arguments, environment).read():
        expires = "never" if record.expires is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(record.expires))
        limits = f"{record.per_minute or '-'}/min {record.concurrent or '-'} at once"
        sys.stdout.write(f"{record.id}  {record.name:20}  {','.join(record.scopes)}  expires {expires}  {limits}\n")
    return 0


def _keys_revoke(arguments: argparse.Namespace, environment: Environment) -> int:
    record = _key_file(arguments, environment).revoke(arguments.id)
    sys.stderr.write(f"key {record.id} for {record.name} is revoked\n")
    return 0


def _keys_rotate(arguments: argparse.Namespace, environment: Environment) -> int:
    made = _show_key(*_key_file(arguments, environment).rotate(arguments.id))
    sys.stderr.write(f"key {arguments.id} is still good; `gateway keys revoke {arguments.id}` ends it\n")
    return made


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
            return _complain(
                f"no key: give --key KEY, or --state-dir with a dev-key in it ({file} is missing)", EX_USAGE
            )
        key = file.read_text().strip()
    return call.run(arguments.url, key, arguments.tool, arguments.pairs, raw=arguments.json)
