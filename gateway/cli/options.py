"""Types and options that several commands share, what the option `--json` prints, and what terminals show.

Commands print with `say` and `Paint`, which leave out control characters: names of keys and files, pages, models and
upstreams hold texts of others, which could move the cursor or rename the window.
Colours are SGR sequences of ECMA-48. They are left out where the output is no terminal, with `NO_COLOR`
(no-color.org, read 2026-11-22) and on a terminal that calls itself `dumb`.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from gateway.config.environment import Environment
from gateway.domain import Progress

EX_CONFIG = 78
"""Exit code for a wrong configuration (sysexits.h)."""
Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Command = Callable[[argparse.Namespace, Environment], int]
"""(parsed arguments, environment) -> exit code. Raises GatewayError, ConfigError, OSError, which `main` prints."""


def add_state_options(parser: argparse.ArgumentParser) -> None:
    """Add `--config` and `--state-dir`."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration file; default: $GATEWAY_CONFIG")
    parser.add_argument(
        "--state-dir", type=Path, metavar="DIR", help="default: $STATE_DIRECTORY, else ./var, else the service's"
    )


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON, an object a line, instead of text")


def add_depth_option(parser: argparse.ArgumentParser) -> None:
    """Add `--depth`, that of an extract: pages are rendered as the server renders them, by `render.mode`."""
    parser.add_argument(
        "--depth",
        default="advanced",
        choices=("basic", "advanced"),
        help="advanced: run a page's scripts where it needs them; default: %(default)s",
    )


def print_json_lines(rows: Iterable[Mapping[str, Any]], out: TextIO | None = None) -> None:
    """Print what `--json` asks for, to standard output or `out`."""
    (out or sys.stdout).writelines(json.dumps(row) + "\n" for row in rows)


def tell(row: Mapping[str, Any], text: str, out: TextIO, *, as_json: bool) -> int:
    """Print what came of a command: `row` with `--json`, else `text` on `out`. Returns 0."""
    if as_json:
        print_json_lines([row])
    else:
        say(f"{text}\n", out)
    return 0


def duration_s(text: str) -> int:
    """`90d`, `12h`, `30m` or `60s` as seconds. Raises ArgumentTypeError, like those below."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    if not (text[:-1].isdigit() and text[-1:] in units and int(text[:-1])):
        raise argparse.ArgumentTypeError("must be a number and a unit: 90d, 12h, 30m or 60s")
    return int(text[:-1]) * units[text[-1]]


def count(text: str) -> int:
    """A whole number, 0 or more."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError("must be a whole number, 0 or more")
    return int(text)


def page_range(text: str) -> tuple[int, int]:
    """`3` or `3-7`, counted from 1, as first and last page."""
    first, dash, last = text.partition("-")
    if not (first.isdigit() and (last.isdigit() or not dash)) or not 1 <= int(first) <= int(last or first):
        raise argparse.ArgumentTypeError("must be pages such as 3 or 3-7, counted from 1")
    return int(first), int(last or first)


def amount(text: str) -> float:
    """A sum of money, 0 or more, such as `12.50`."""
    whole, _, rest = text.partition(".")
    if not (text.isascii() and whole.isdigit() and (rest.isdigit() or "." not in text)):
        raise argparse.ArgumentTypeError("must be a sum, 0 or more, such as 12.50")
    return float(text)


def port(text: str) -> int:
    """A TCP port, 1 to 65,535."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65_535):
        raise argparse.ArgumentTypeError("must be a port, 1 to 65535")
    return int(text)


GOOD, BAD, DOUBTFUL, STRONG, LINK = "32", "31", "33", "1", "36"
"""SGR codes: green, red, yellow, bold, cyan."""
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)])


class Paint:
    """Colours texts for one stream, or leaves them as they are."""

    def __init__(self, out: TextIO, environment: Environment) -> None:
        variables = environment.variables
        self._is_on = out.isatty() and not variables.get("NO_COLOR") and variables.get("TERM") != "dumb"

    def __call__(self, style: str, text: str) -> str:
        """The text in one of the styles above, without control characters."""
        text = for_terminal(text)
        return f"\x1b[{style}m{text}\x1b[0m" if self._is_on and text else text


def for_terminal(text: str) -> str:
    """The text without control characters but line feeds and tabs: `a\\x1b[31mb` -> `a[31mb`."""
    return text.translate(_CONTROLS)


def one_line(text: str) -> str:
    """As `for_terminal`, on one line: `a\\nb` -> `a b`."""
    return for_terminal(text).replace("\n", " ").replace("\t", " ")


def say(text: str, out: TextIO | None = None) -> None:
    """Write a text, whose lines end with a line feed, to standard output or `out`."""
    (out or sys.stdout).write(for_terminal(text))


_BAR_WIDTH, _LINE_EVERY_S = 24, 10.0
"""Characters of a progress bar; seconds between two lines of progress where there is no terminal."""


def progress_on(out: TextIO) -> Progress:
    """Progress drawn as a bar on a terminal; elsewhere a line now and then, as one for each step would be noise."""
    if out.isatty():
        return Progress(lambda state: _draw(state, out))
    told_s = time.monotonic()

    def tell(state: Progress) -> None:
        nonlocal told_s
        if time.monotonic() - told_s >= _LINE_EVERY_S:
            told_s = time.monotonic()
            say(f"{state.done} of {state.total or 'unknown'}: {one_line(state.message)}\n", out)

    return Progress(tell)


def _draw(state: Progress, out: TextIO) -> None:
    """Draw the bar over itself; at the end nothing of it stays."""
    total = max(state.total or state.done, 1)
    filled = _BAR_WIDTH * state.done // total
    bar = f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] {state.done}/{total} {one_line(state.message)[:60]}"
    out.write(f"\r\x1b[K{bar if state.done < total else ''}")
    out.flush()
