"""`gateway keys`: makes, lists, revokes and rotates API keys in the file of their digests.

A new key is printed once, alone on standard output; what goes with it is on standard error. Needs no running server.
"""

import argparse
import sys
import time
from pathlib import Path

from gateway.access.api_keys import KeyFile, KeyRecord, KeyRequest
from gateway.cli.argument_types import Parsers, add_state_options, count, duration_s
from gateway.config.environment import Environment
from gateway.config.loader import load_config
from gateway.config.server_settings import Access
from gateway.domain import SCOPES, is_scope

_SCOPES_HELP = f"{', '.join(SCOPES)}, or mcp:LABEL for an MCP server; repeat for several"


def _scope(text: str) -> str:
    if not is_scope(text):
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(SCOPES)}, or mcp:LABEL")
    return text


def add_key_commands(parsers: Parsers) -> None:
    """Add `keys create`, `list`, `revoke` and `rotate`."""
    keys = parsers.add_parser("keys", help="manage API keys")
    actions = keys.add_subparsers(required=True, metavar="ACTION")
    create = actions.add_parser("create", help="make a key; it is printed once, alone on standard output")
    create.add_argument("--name", required=True, help="its holder, for people")
    create.add_argument("--scope", action="append", required=True, type=_scope, help=_SCOPES_HELP)
    create.add_argument(
        "--expires", type=duration_s, metavar="90d", help="90d, 12h, 30m or 60s from now; default: never"
    )
    create.add_argument("--per-minute", type=count, metavar="N", help="calls a minute; 0 = no limit")
    create.add_argument("--concurrent", type=count, metavar="N", help="requests at once; 0 = no limit")
    create.set_defaults(command=_keys_create)
    listing = actions.add_parser("list", help="list every key, without its secret")
    listing.set_defaults(command=_keys_list)
    for name, command, text in (
        ("revoke", _keys_revoke, "end a key; a running server refuses it within 5 s"),
        ("rotate", _keys_rotate, "a new key with the rights of an old one, which stays until it is revoked"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("id", metavar="ID")
        action.set_defaults(command=command)
    for action in actions.choices.values():
        add_state_options(action)
        action.add_argument("--keys-file", type=Path, metavar="FILE")


def _key_file(arguments: argparse.Namespace, environment: Environment) -> KeyFile:
    """The file in `--keys-file`, else in the configuration, else the default; relative to the state directory."""
    if arguments.keys_file is not None:
        return KeyFile((arguments.state_dir or environment.state_dir) / arguments.keys_file)
    if arguments.config is None:
        return KeyFile((arguments.state_dir or environment.state_dir) / Access().keys_file)
    config = load_config(arguments.config, arguments.state_dir, environment)
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
    code = _show_key(*_key_file(arguments, environment).rotate(arguments.id))
    sys.stderr.write(f"key {arguments.id} stays valid until it is revoked: `gateway keys revoke {arguments.id}`\n")
    return code
