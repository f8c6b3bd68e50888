"""`gateway usage`: what keys, models and tools have used, from the state directory, or from Redis for all machines that
share it. Needs no running server."""

import argparse
import asyncio
import sqlite3
import sys
import time

from gateway.access.usage import GROUPS, SharedUsage, UsageReader, is_day, totals
from gateway.cli.argument_types import Parsers, add_json_option, add_state_options, print_json_lines
from gateway.cli.keys import registry_of
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.settings import Config
from gateway.domain import Json
from gateway.errors import GatewayError, InvalidRequest, StateUnavailable
from gateway.shared_state.port import StateDown
from gateway.shared_state.redis_state import RedisConnection
from gateway.shared_state.sqlite_state import STATE_FILE

_COLUMNS = ("requests", "input_tokens", "cached_tokens", "output_tokens", "tool_calls", "spend")


def add_commands(parsers: Parsers) -> None:
    """Add `usage`."""
    usage = parsers.add_parser("usage", help="show what keys, models and tools have used, by day")
    usage.add_argument("--since", type=first_day, default="30d", metavar="DAY", help="YYYY-MM-DD, or 30d; default: 30d")
    usage.add_argument(
        "--by", type=groups, default="key", metavar="GROUPS", help=f"of {','.join(GROUPS)}; default: key"
    )
    usage.add_argument("--machine", action="store_true", help="this machine alone, where several share a Redis")
    add_json_option(usage)
    usage.set_defaults(command=_usage)
    add_state_options(usage)


def first_day(text: str) -> str:
    """`2026-11-01`, or `30d` before today (UTC), as YYYY-MM-DD. Raises ArgumentTypeError."""
    if text.endswith("d") and text[:-1].isdigit() and int(text[:-1]) < 10_000:
        return time.strftime("%Y-%m-%d", time.gmtime(time.time() - int(text[:-1]) * 86_400))
    if not is_day(text):
        raise argparse.ArgumentTypeError("must be a day, such as 2026-11-01, or a number of days, such as 30d")
    return text


def groups(text: str) -> list[str]:
    """`day,key` as a list. Raises ArgumentTypeError."""
    names = text.split(",")
    if any(name not in GROUPS for name in names):
        raise argparse.ArgumentTypeError(f"must be one or more of {','.join(GROUPS)}")
    return names


def _usage(arguments: argparse.Namespace, environment: Environment) -> int:
    config = load_config(arguments.config, arguments.state_dir, environment)
    rows = asyncio.run(_read(config, arguments))
    try:
        names = {record.id: record.name for record in registry_of(config).read()}
    except (GatewayError, OSError):
        names = {}
    for row in rows:
        if row.get("key") in names:
            row["name"] = names[row["key"]]
    if arguments.json:
        print_json_lines(rows)
    else:
        sys.stdout.write(_table(rows, arguments.by, config.prices[0].currency if config.prices else ""))
    return 0


async def _read(config: Config, arguments: argparse.Namespace) -> list[Json]:
    """See `UsageReader.read`. Raises StateUnavailable, InvalidRequest."""
    path, redis = config.state_dir / STATE_FILE, None
    if config.shared.redis_url is not None and not arguments.machine:
        redis = RedisConnection(config.shared.redis_url.reveal())
    reader = UsageReader(path, SharedUsage(redis, config.usage.keep_days) if redis is not None else None)
    try:
        return (await reader.read(arguments.since, arguments.by))[0]
    except StateDown:
        raise StateUnavailable("Redis cannot be used; --machine shows what this machine has counted") from None
    except sqlite3.Error as error:
        raise InvalidRequest(f"{path} cannot be read ({type(error).__name__})") from None
    finally:
        if redis is not None:
            await redis.close()


def _table(rows: list[Json], by: list[str], currency: str) -> str:
    """The rows as text, with a last one of their sums."""
    if not rows:
        return "nothing was used\n"
    shown = [name for name in GROUPS if name in by]
    if "key" in shown:
        shown.insert(shown.index("key") + 1, "name")
    lines = [[*shown, *(name.replace("_", " ") for name in _COLUMNS[:-1]), f"spend {currency}".strip()]]
    for row in [*rows, {shown[0]: "all", **totals([{name: row[name] for name in _COLUMNS} for row in rows])}]:
        figures = [f"{row[name]:,}" for name in _COLUMNS[:-1]]
        lines.append([*(str(row.get(name) or "-") for name in shown), *figures, f"{row['spend']:,.4f}"])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "".join(
        "  ".join(
            cell.ljust(width) if column < len(shown) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )
