"""`gateway sanitize`: prints what the sanitizer finds in a text."""

import argparse
import sys
from pathlib import Path

from gateway.cli.options import Parsers, add_json_option, add_state_options, print_json_lines, say
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.errors import InvalidRequest
from gateway.sanitize.report import explain, preview


def add_commands(parsers: Parsers) -> None:
    """Add `sanitize`."""
    clean = parsers.add_parser("sanitize")
    clean.add_argument("file", metavar="FILE", nargs="?", default="-", help="default: -, standard input")
    clean.add_argument("--profile", choices=("balanced", "strict", "reversible"))
    clean.add_argument("--check", action="store_true", help="exit with 1 if a value would be masked in a request")
    add_json_option(clean)
    add_state_options(clean)
    clean.set_defaults(command=_sanitize)


def _sanitize(arguments: argparse.Namespace, environment: Environment) -> int:
    settings = load_config(arguments.config, arguments.state_dir, environment, needs_secrets=False).sanitize
    if arguments.file == "-":
        text = sys.stdin.read()
    else:
        try:
            text = Path(arguments.file).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise InvalidRequest(f"cannot read {arguments.file}: {error.strerror}") from None
    if arguments.json:
        print_json_lines([preview(text, settings, arguments.profile)])
    else:
        say(explain(text, settings, arguments.profile) + "\n")
    if not arguments.check:
        return 0
    found = preview(text, settings, arguments.profile)["findings"]
    return int(any(each["request"] in ("redact", "block") for each in found))
