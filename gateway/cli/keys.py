"""`gateway keys`: makes, lists, revokes, rotates and imports API keys, in the file of their digests or in Redis.

A new key is printed once, alone on standard output; what goes with it is on standard error. Needs no running server.

`gateway usage`: what keys, models and tools have used, from the state directory, or from Redis for all machines that
share it. Needs no running server.
"""

import argparse
import asyncio
import importlib
import sqlite3
import sys
import time
from functools import partial
from pathlib import Path

from gateway.access.keys import KeyFile, KeyRecord, KeyRegistry, KeyRequest, record_to_json
from gateway.access.people import People, account_of, digest
from gateway.access.private_files import USER_HASH_KEY, load_or_create_secret
from gateway.access.redis_keys import RedisKeys
from gateway.access.usage import GROUPS, SharedUsage, UsageReader, is_day, read_usage, together, totals
from gateway.cli.options import (
    Parsers,
    add_json_option,
    add_state_options,
    amount,
    count,
    duration_s,
    one_line,
    print_json_lines,
    say,
)
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.settings import Config
from gateway.domain import KEY_LIMITS, SCOPES, Json, is_scope
from gateway.errors import GatewayError, InvalidRequest, StateUnavailable
from gateway.shared_state.port import StateDown
from gateway.shared_state.redis_state import RedisConnection
from gateway.shared_state.sqlite_state import STATE_FILE, file_problem

_SCOPES_HELP = f"{', '.join(SCOPES)}, or mcp:LABEL for an MCP server; repeat for several"


def _scope(text: str) -> str:
    if not is_scope(text):
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(SCOPES)}, or mcp:LABEL")
    return text


def add_commands(parsers: Parsers) -> None:
    """Add `keys create`, `list`, `revoke`, `erase`, `rotate` and `import`."""
    _add_usage(parsers)
    keys = parsers.add_parser("keys")
    actions = keys.add_subparsers(required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make a key; it is printed once, alone on standard output")
    create.add_argument("--name", required=True, help="its holder, for people")
    create.add_argument("--scope", action="append", required=True, type=_scope, help=_SCOPES_HELP)
    create.add_argument(
        "--expires", type=duration_s, metavar="90d", help="90d, 12h, 30m or 60s from now; default: never"
    )
    create.add_argument("--per-minute", type=count, metavar="N", help="calls a minute; 0 = no limit")
    create.add_argument("--concurrent", type=count, metavar="N", help="requests at once; 0 = no limit")
    create.add_argument("--tokens-per-minute", type=count, metavar="N", help="tokens a minute, in and out")
    create.add_argument("--tokens-per-day", type=count, metavar="N", help="tokens a day (UTC)")
    create.add_argument("--tool-calls-per-day", type=count, metavar="N", help="calls of web tools a day (UTC)")
    create.add_argument("--spend-per-month", type=amount, metavar="SUM", help="spend a month (UTC), by [[prices]]")
    create.add_argument("--per-user-tokens-per-day", type=count, metavar="N", help="tokens a day (UTC) of one `user`")
    create.add_argument("--per-user-spend-per-day", type=amount, metavar="SUM", help="spend a day (UTC) of one `user`")
    create.set_defaults(command=_keys_create)
    listing = actions.add_parser("list", help="list every key, without its secret")
    listing.set_defaults(command=_keys_list)
    for name, command, text in (
        ("revoke", _keys_revoke, "end a key; a running server refuses it within 5 s"),
        ("erase", _keys_erase, "remove all that a revoked key has left: responses, conversations, pages, usage, users"),
        ("rotate", _keys_rotate, "a new key with the rights of an old one, which stays until it is revoked"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("id", metavar="ID")
        action.set_defaults(command=command)
    importing = actions.add_parser("import", help="add the keys of a key file; ids that exist are left as they are")
    importing.add_argument("file", type=Path, metavar="FILE")
    importing.set_defaults(command=_keys_import)
    for action in actions.choices.values():
        add_json_option(action)
        add_state_options(action)
        action.add_argument("--keys-file", type=Path, metavar="FILE")


def _registry(arguments: argparse.Namespace, environment: Environment) -> KeyRegistry:
    """The file in `--keys-file` (a path as the shell means it), else what the configuration says."""
    if arguments.keys_file is not None:
        return KeyFile(arguments.keys_file)
    return registry_of(load_config(arguments.config, arguments.state_dir, environment, needs_secrets=False))


def registry_of(config: Config) -> KeyRegistry:
    """Where the keys of this configuration are."""
    if config.access.backend == "redis" and config.shared.redis_url is not None:
        return RedisKeys(config.shared.redis_url.reveal(), config.state_dir)
    return KeyFile(config.state_dir / config.access.keys_file)


def _keys_create(arguments: argparse.Namespace, environment: Environment) -> int:
    limits = {name: getattr(arguments, name) for name in KEY_LIMITS}
    wish = KeyRequest(arguments.name, tuple(arguments.scope), arguments.expires, **limits)
    key, record = _registry(arguments, environment).create(wish)
    return _show_key(key, record, as_json=arguments.json)


def _public(record: KeyRecord) -> dict[str, object]:
    """What may be shown of a key."""
    return {name: value for name, value in record_to_json(record).items() if name != "sha256"}


def _show_key(key: str, record: KeyRecord, *, as_json: bool) -> int:
    if as_json:
        print_json_lines([{**_public(record), "key": key}])
        return 0
    say(
        f"key {record.id} for {one_line(record.name)}, scopes {', '.join(record.scopes)}; it is not shown again:\n",
        sys.stderr,
    )
    say(key + "\n")
    return 0


def _keys_list(arguments: argparse.Namespace, environment: Environment) -> int:
    records = _registry(arguments, environment).read()
    if arguments.json:
        print_json_lines(map(_public, records))
        return 0
    last_used = _last_used(arguments, environment)
    rows = [["id", "name", "scopes", "created", "last used", "expires", "limits"]]
    for record in records:
        limits = [
            f"{getattr(record, name):g} {name.replace('_', ' ')}"
            for name in KEY_LIMITS
            if getattr(record, name) is not None
        ]
        dates = (_day(record.created), last_used.get(record.id, "-"), _day(record.expires) or "never")
        rows.append([record.id, record.name, ",".join(record.scopes), *dates, ", ".join(limits) or "-"])
    say(_aligned(rows, len(rows[0])) if records else "there are no keys; make one: gateway keys create\n")
    return 0


def _day(at_s: int | None) -> str:
    return "" if at_s is None else time.strftime("%Y-%m-%d", time.localtime(at_s))


def _last_used(arguments: argparse.Namespace, environment: Environment) -> dict[str, str]:
    """The last day on which this machine counted something for each key, as far as its file can be read."""
    path = (arguments.state_dir or environment.state_dir) / STATE_FILE
    try:
        return {row["key"]: row["day"] for row in read_usage(path, "", ("day", "key"))}  # in the order of days
    except sqlite3.Error:
        return {}


def _keys_revoke(arguments: argparse.Namespace, environment: Environment) -> int:
    record = _registry(arguments, environment).revoke(arguments.id)
    if arguments.json:
        print_json_lines([{**_public(record), "revoked": True}])
    else:
        say(f"key {record.id} for {one_line(record.name)} is revoked\n", sys.stderr)
    return 0


def _keys_erase(arguments: argparse.Namespace, environment: Environment) -> int:
    if any(record.id == arguments.id for record in _registry(arguments, environment).read()):
        raise InvalidRequest(f"key {arguments.id} is still valid; `gateway keys revoke {arguments.id}` comes first")
    config = load_config(arguments.config, arguments.state_dir or environment.state_dir, environment)
    try:
        # By name: no other command of this module needs what serves.
        erased: dict[str, int] = asyncio.run(importlib.import_module("gateway.app.erasing").erase(config, arguments.id))
    except StateDown:
        raise StateUnavailable("the shared state cannot be used (`gateway doctor`); nothing more was removed") from None
    if arguments.json:
        print_json_lines([{"id": arguments.id, **erased}])
    else:
        say(f"removed of key {arguments.id}: {', '.join(f'{n} {name}' for name, n in erased.items())}\n", sys.stderr)
    return 0


def _keys_rotate(arguments: argparse.Namespace, environment: Environment) -> int:
    code = _show_key(*_registry(arguments, environment).rotate(arguments.id), as_json=arguments.json)
    if not arguments.json:
        say(f"key {arguments.id} stays valid until it is revoked: `gateway keys revoke {arguments.id}`\n", sys.stderr)
    return code


def _keys_import(arguments: argparse.Namespace, environment: Environment) -> int:
    records = KeyFile(arguments.file).read_existing()
    added = _registry(arguments, environment).add(records)
    if arguments.json:
        print_json_lines([{"added": len(added), "there_before": len(records) - len(added)}])
    else:
        say(f"{len(added)} of {len(records)} keys were added; the others were there\n", sys.stderr)
    return 0


_COLUMNS = ("requests", "input_tokens", "cached_tokens", "output_tokens", "tool_calls", "spend")


def _add_usage(parsers: Parsers) -> None:
    """Add `usage`."""
    usage = parsers.add_parser("usage")
    usage.add_argument("--since", type=first_day, default="30d", metavar="DAY", help="YYYY-MM-DD, or 30d; default: 30d")
    usage.add_argument(
        "--by", type=groups, default="key", metavar="GROUPS", help=f"of {','.join(GROUPS)}; default: key"
    )
    usage.add_argument("--user", default="", metavar="NAME", help="one user, as requests name it; implies --by user")
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
    if problem := together(names):
        raise argparse.ArgumentTypeError(problem)
    return names


def _usage(arguments: argparse.Namespace, environment: Environment) -> int:
    config = load_config(arguments.config, arguments.state_dir, environment, needs_secrets=False)
    if arguments.user and "user" not in arguments.by:
        arguments.by = [*(name for name in arguments.by if not together([name, "user"])), "user"]
    rows = asyncio.run(_read(config, arguments))
    if arguments.user:
        secret = load_or_create_secret(config.state_dir / USER_HASH_KEY)
        wanted = People(partial(digest, secret)).hashed("user", account_of(arguments.user))
        rows = [{**row, "user": one_line(arguments.user)} for row in rows if row["user"] == wanted]
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
        say(_table(rows, arguments.by, config.prices[0].currency if config.prices else ""))
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
        raise StateUnavailable(f"{path}: {file_problem(error, path)}") from None
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
    return _aligned(lines, len(shown))


def _aligned(lines: list[list[str]], words: int) -> str:
    """The lines as a table whose first `words` columns are texts and the others figures."""
    lines = [[one_line(cell) for cell in line] for line in lines]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "".join(
        "  ".join(
            cell.ljust(width) if column < words else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )
