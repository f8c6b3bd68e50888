"""Writes the effective configuration as TOML text, for `gateway print-config`.

Source of the syntax: TOML 1.0.0.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import chain
from typing import Any

from gateway.config.settings import TABLES, Config, Secret


def config_text(config: Config) -> str:
    """The whole effective configuration as TOML that `load_config` reads back to an equal one.

    A secret is written as `{ credential = "NAME" }`; its value is not in the text.
    """
    tables = _to_tables(config)
    del tables["state_dir"]
    return f"# state directory: {config.state_dir}\n" + "\n".join(_lines(tables, ""))


def _to_tables(value: Any) -> Any:
    """Dataclasses as dicts without the None fields, tuples as lists, mappings as inline tables. A field without `repr`
    is no setting but what was read for one, such as a private key."""
    if isinstance(value, Secret):
        return _Inline({"credential": value.credential})
    if is_dataclass(value):
        named = [
            (each.name, getattr(value, each.name))
            for each in fields(value)
            if TABLES not in each.metadata and each.repr
        ]
        others = [getattr(value, each.name).items() for each in fields(value) if TABLES in each.metadata]
        pairs = ((name, _to_tables(item)) for name, item in chain(named, *others))
        return {name: item for name, item in pairs if item is not None}
    if isinstance(value, Mapping):
        return _Inline({name: _to_tables(item) for name, item in value.items()})
    return [_to_tables(item) for item in value] if isinstance(value, tuple) else value


class _Inline(dict[str, Any]):
    """A table that is written in braces on one line."""


def _lines(table: Mapping[str, Any], path: str) -> Iterator[str]:
    later: list[tuple[str, Any]] = []
    for name, value in table.items():
        nested = isinstance(value, dict) and not isinstance(value, _Inline)
        if nested or (isinstance(value, list) and value and isinstance(value[0], dict)):
            later.append((f"{path}.{name}" if path else name, value))
        else:
            yield f"{name} = {_toml(value)}"
    for name, value in later:
        for item in value if isinstance(value, list) else [value]:
            yield f"\n[[{name}]]" if isinstance(value, list) else f"\n[{name}]"
            yield from _lines(item, name)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(str(name))} = {_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, str):
        escaped = "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in value.replace("\\", "\\\\"))
        return '"' + escaped.replace('"', '\\"') + '"'
    return f"{value:g}" if isinstance(value, float) and value < 1e6 else str(value)
