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
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gateway.access.keys import KeyFile, KeyRecord, KeyRegistry, KeyRequest, shown
from gateway.access.people import People, account_of, digest
from gateway.access.private_files import USER_HASH_KEY, load_or_create_secret
from gateway.access.redis_keys import registry_of
from gateway.access.usage import GROUPS, SharedUsage, UsageReader, is_day, named, read_usage, sum_text, together, totals
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
    tell,
)
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.settings import Config
from gateway.domain import KEY_LIMITS, SCOPES, Json, is_scope
from gateway.errors import GatewayError, InvalidRequest, NotFound, StateUnavailable
from gateway.shared_state.bus import BUS_FOLDER, has_listeners
from gateway.shared_state.port import StateDown
from gateway.shared_state.redis_state import RedisConnection
from gateway.shared_state.sqlite_state import STATE_FILE, file_problem

_SCOPES_HELP = f"{', '.join(SCOPES)}, or mcp:LABEL for an MCP server; repeat for several"


def _scope(text: str) -> str:
    if not is_scope(text):
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(SCOPES)}, or mcp:LABEL")
    return text


def add_commands(parsers: Parsers) -> None:
    """Add `keys create`, `edit`, `list`, `show`, `revoke`, `erase`, `rotate` and `import`."""
    _add_usage(parsers)
    actions = parsers.add_parser("keys").add_subparsers(required=True, metavar="ACTION")
    for name, command, text in (
        ("create", _keys_create, "make a key; it is printed once, alone on standard output"),
        ("edit", _keys_edit, "change a key; what is not named stays; in force within 5 s"),
        ("list", _keys_list, "list every key, without its secret"),
        ("show", _keys_show, "all of a key but its secret, and what it has used"),
        ("revoke", _keys_revoke, "end a key; a running server refuses it within 5 s"),
        ("erase", _keys_erase, "remove all that a revoked key has left: responses, conversations, pages, usage, users"),
        ("rotate", _keys_rotate, "a new key with the rights of an old one, which stays until it is revoked"),
        ("import", _keys_import, "add the keys of a key file; ids that exist are left as they are"),
    ):
        action = actions.add_parser(name, help=text)
        action.set_defaults(command=command)
        if name in ("create", "edit"):
            _add_properties(action, is_new=name == "create")
        if name == "import":
            action.add_argument("file", type=Path, metavar="FILE")
        elif name not in ("create", "list"):
            action.add_argument("id", metavar="ID", help="the key's id, or its name where no other key has it")
        add_json_option(action)
        add_state_options(action)
        action.add_argument("--keys-file", type=Path, metavar="FILE")


def _or(word: str, kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """A type of argument that `word` takes away."""
    return lambda text: None if text == word else kind(text)


_LIMITS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "per_minute": (count, "N", "calls a minute"),
    "concurrent": (count, "N", "requests at once"),
    "tokens_per_minute": (count, "N", "tokens a minute, in and out"),
    "tokens_per_day": (count, "N", "tokens a day (UTC)"),
    "tool_calls_per_day": (count, "N", "calls of web tools a day (UTC)"),
    "spend_per_month": (amount, "SUM", "spend a month (UTC), by [[prices]]"),
    "per_user_tokens_per_day": (count, "N", "tokens a day (UTC) of one `user`"),
    "per_user_spend_per_day": (amount, "SUM", "spend a day (UTC) of one `user`"),
}

_PROPERTIES = ("name", "scopes", "expires_s", *KEY_LIMITS)


def _add_properties(parser: argparse.ArgumentParser, *, is_new: bool) -> None:
    """The options that are properties of a key. Of an edit, what is not given is not in the arguments."""
    given: dict[str, Any] = {"default": None if is_new else argparse.SUPPRESS}
    parser.add_argument("--name", required=is_new, help="its holder, for people", **given)
    given_scopes = {"action": "append", "dest": "scopes", "metavar": "SCOPE", "required": is_new, **given}
    parser.add_argument("--scope", type=_scope, help=_SCOPES_HELP, **given_scopes)
    text = "90d, 12h, 30m or 60s from now, or never"
    parser.add_argument("--expires", dest="expires_s", type=_or("never", duration_s), metavar="90d", help=text, **given)
    for name, (kind, metavar, text) in _LIMITS.items():
        option, text = f"--{name.replace('_', '-')}", f"{text}; 0 = no limit, none = the configured one"
        parser.add_argument(option, type=_or("none", kind), metavar=metavar, help=text, **given)


def _registry(arguments: argparse.Namespace, environment: Environment) -> KeyRegistry:
    """The file in `--keys-file` (a path as the shell means it), else what the configuration says."""
    if arguments.keys_file is not None:
        return KeyFile(arguments.keys_file)
    return registry_of(load_config(arguments.config, arguments.state_dir, environment, needs_secrets=False))


def _keys_create(arguments: argparse.Namespace, environment: Environment) -> int:
    wish = {name: getattr(arguments, name) for name in _PROPERTIES}
    key, record = _registry(arguments, environment).create(KeyRequest(**wish))
    return _show_key(key, record, as_json=arguments.json)


def _keys_edit(arguments: argparse.Namespace, environment: Environment) -> int:
    changes = {name: getattr(arguments, name) for name in _PROPERTIES if hasattr(arguments, name)}
    if not changes:
        raise InvalidRequest("nothing is to be changed; `gateway keys edit --help` lists what can be")
    record = _registry(arguments, environment).edit(arguments.id, changes)
    text = f"key {record.id} for {one_line(record.name)} is changed; in force within 5 s"
    return tell(shown(record), text, sys.stderr, as_json=arguments.json)


def _keys_show(arguments: argparse.Namespace, environment: Environment) -> int:
    """A line for each property, or one of JSON; `used` are tokens and tool calls of today, and the month's spend."""
    config = load_config(arguments.config, arguments.state_dir, environment, needs_secrets=False)
    record = _registry(arguments, environment).find(arguments.id)
    rows = asyncio.run(_read(config, time.strftime("%Y-%m-01", time.gmtime()), ["day", "key"]))
    month = [row for row in rows if row["key"] == record.id]
    day = defaultdict(int, totals([row for row in month if row["day"] == time.strftime("%Y-%m-%d", time.gmtime())]))
    used = {"tokens_per_day": day["input_tokens"] + day["output_tokens"], "tool_calls_per_day": day["tool_calls"],
            "spend_per_month": totals(month).get("spend", 0)}  # fmt: skip
    row = {**shown(record), "last_used": _last_used(config.state_dir).get(record.id), "used": used}
    told = {**row, "created": _day(record.created), "expires": _day(record.expires) or "never"}
    told["scopes"] = ", ".join(record.scopes)
    del told["used"]
    for name in KEY_LIMITS:
        own = getattr(record, name)
        limit = getattr(config.limits, name) if own is None else own
        told[name] = f"{sum_text(limit) if limit else 'no limit'}{' (configured)' if own is None else ''}"
        told[name] += f"; {sum_text(used[name])} used" if name in used else ""
    lines = [f"{name.replace('_', ' '):24} {one_line(str(text or '-'))}" for name, text in told.items()]
    return tell(row, "\n".join(lines), sys.stdout, as_json=arguments.json)


def _show_key(key: str, record: KeyRecord, *, as_json: bool) -> int:
    text = f"key {record.id} for {one_line(record.name)}, scopes {', '.join(record.scopes)}; it is not shown again:"
    tell({**shown(record), "key": key}, text, sys.stderr, as_json=as_json)
    say("" if as_json else f"{key}\n")
    return 0


def _keys_list(arguments: argparse.Namespace, environment: Environment) -> int:
    records = _registry(arguments, environment).read()
    if arguments.json:
        print_json_lines(map(shown, records))
        return 0
    last_used = _last_used(arguments.state_dir or environment.state_dir)
    rows = [["id", "name", "scopes", "created", "last used", "expires", "limits"]]
    for record in records:
        own = {name.replace("_", " "): getattr(record, name) for name in KEY_LIMITS}
        limits = ", ".join(f"{sum_text(limit)} {name}" for name, limit in own.items() if limit is not None)
        dates = (_day(record.created), last_used.get(record.id, "-"), _day(record.expires) or "never")
        rows.append([record.id, record.name, ",".join(record.scopes), *dates, limits or "-"])
    say(_aligned(rows, len(rows[0])) if records else "there are no keys; make one: gateway keys create\n")
    return 0


def _day(at_s: int | None) -> str:
    return "" if at_s is None else time.strftime("%Y-%m-%d", time.localtime(at_s))


def _last_used(state_dir: Path) -> dict[str, str]:
    """The last day on which this machine counted something for each key, as far as its file can be read."""
    try:
        rows = read_usage(state_dir / STATE_FILE, "", ("day", "key"))
        return {row["key"]: row["day"] for row in rows}  # in the order of days
    except sqlite3.Error:
        return {}


def _keys_revoke(arguments: argparse.Namespace, environment: Environment) -> int:
    record = _registry(arguments, environment).revoke(arguments.id)
    text = f"key {record.id} for {one_line(record.name)} is revoked"
    return tell({**shown(record), "revoked": True}, text, sys.stderr, as_json=arguments.json)


_GATHERED_S = 6.0
"""A running gateway writes what a key has used within five seconds."""


def _keys_erase(arguments: argparse.Namespace, environment: Environment) -> int:
    registry = _registry(arguments, environment)
    if any(record.id == arguments.id for record in registry.read()):
        raise InvalidRequest(f"key {arguments.id} is still valid; `gateway keys revoke {arguments.id}` comes first")
    config = load_config(arguments.config, arguments.state_dir or environment.state_dir, environment)
    # By name: no other command of this module needs what serves.
    erase = importlib.import_module("gateway.app.erasing").erase
    try:
        erased: dict[str, int] = asyncio.run(erase(config, arguments.id))
        if has_listeners(config.state_dir / BUS_FOLDER):
            time.sleep(_GATHERED_S)
            erased = {name: count + erased[name] for name, count in asyncio.run(erase(config, arguments.id)).items()}
        if not any(erased.values()) and arguments.id not in registry.ended():
            raise NotFound(f"no key had the id '{arguments.id}': nothing was removed; `gateway usage` lists ids")
        registry.forget(arguments.id)
    except StateDown:
        raise StateUnavailable("the shared state cannot be used (`gateway doctor`); nothing more was removed") from None
    text = f"removed of key {arguments.id}: {', '.join(f'{n} {name}' for name, n in erased.items())}"
    return tell({"id": arguments.id, **erased}, text, sys.stderr, as_json=arguments.json)


def _keys_rotate(arguments: argparse.Namespace, environment: Environment) -> int:
    registry = _registry(arguments, environment)
    old = registry.find(arguments.id).id
    code = _show_key(*registry.rotate(old), as_json=arguments.json)
    if not arguments.json:
        say(f"key {old} stays valid until it is revoked: `gateway keys revoke {old}`\n", sys.stderr)
    return code


def _keys_import(arguments: argparse.Namespace, environment: Environment) -> int:
    records = KeyFile(arguments.file).read_existing()
    added = _registry(arguments, environment).add(records)
    text = f"{len(added)} of {len(records)} keys were added; the others were there"
    row = {"added": len(added), "there_before": len(records) - len(added)}
    return tell(row, text, sys.stderr, as_json=arguments.json)


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
    rows = asyncio.run(_read(config, arguments.since, arguments.by, only_here=arguments.machine))
    if arguments.user:
        secret = load_or_create_secret(config.state_dir / USER_HASH_KEY)
        wanted = People(partial(digest, secret)).hashed("user", account_of(arguments.user))
        rows = [{**row, "user": one_line(arguments.user)} for row in rows if row["user"] == wanted]
    try:
        registry = registry_of(config)
        names = {**registry.ended(), **{record.id: record.name for record in registry.read()}}
    except (GatewayError, OSError):
        names = {}
    rows = named(rows, names)
    if arguments.json:
        print_json_lines(rows)
    else:
        say(_table(rows, arguments.by, config.prices[0].currency if config.prices else ""))
    return 0


async def _read(config: Config, since: str, by: Sequence[str], *, only_here: bool = False) -> list[Json]:
    """See `UsageReader.read`. Raises StateUnavailable, InvalidRequest."""
    path, redis = config.state_dir / STATE_FILE, None
    if config.shared.redis_url is not None and not only_here:
        redis = RedisConnection(config.shared.redis_url.reveal())
    reader = UsageReader(path, SharedUsage(redis, config.usage.keep_days) if redis is not None else None)
    try:
        return (await reader.read(since, by))[0]
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
    columns = [name for name in GROUPS if name in by]
    if "key" in columns:
        columns.insert(columns.index("key") + 1, "name")
    lines = [[*columns, *(name.replace("_", " ") for name in _COLUMNS[:-1]), f"spend {currency}".strip()]]
    for row in [*rows, {columns[0]: "all", **totals([{name: row[name] for name in _COLUMNS} for row in rows])}]:
        figures = [f"{row[name]:,}" for name in _COLUMNS[:-1]]
        spend = sum_text(row["spend"]) if 0 < row["spend"] < 0.01 else f"{row['spend']:,.4f}"
        lines.append([*(str(row.get(name) or "-") for name in columns), *figures, spend])
    return _aligned(lines, len(columns))


def _aligned(lines: list[list[str]], words: int) -> str:
    """The lines as a table whose first `words` columns are texts and the others figures."""
    lines = [[one_line(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = ([f"{cell:{'<' if n < words else '>'}{widths[n]}}" for n, cell in enumerate(line)] for line in lines)
    return "".join("  ".join(row).rstrip() + "\n" for row in rows)
