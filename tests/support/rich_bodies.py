"""Bodies with every field that bodies of the model routes are known to have, and some that nobody has heard of.

`places` finds every string and property name in one, `with_value` puts a value there: so a test tries all of them.
"""

import copy
import json
from collections.abc import Iterable, Iterator
from typing import Any

from tests.support.paths import GOLDEN


def rich(name: str) -> Any:
    """A recorded body of `tests/golden/bodies`, or the events of a stream."""
    return json.loads((GOLDEN / "bodies" / f"{name}.json").read_text())


RESPONSE_ANSWER: dict[str, Any] = rich("responses_answer")

Path = tuple[tuple[str, Any], ...]
"""Steps from the root: `("item", key or index)`; a last `("name", key)` is the property name itself."""


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every string and of every property name in a decoded JSON value."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for name, member in value.items():
            yield (*path, ("name", name))
            yield from places(member, (*path, ("item", name)))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from places(member, (*path, ("item", index)))


def with_value(body: Any, path: Path, value: str, *, is_added: bool = True) -> Any:
    """A copy with the value at a place. A property name gets a new neighbour of that name (or is replaced)."""
    return with_values(body, [(path, value)], is_added=is_added)


def with_values(body: Any, values: Iterable[tuple[Path, str]], *, is_added: bool = True) -> Any:
    """A copy with each value at its place."""
    changed = copy.deepcopy(body)
    for path, value in values:
        holder = changed
        for _, key in path[:-1]:
            holder = holder[key]
        kind, key = path[-1]
        if kind == "item":
            holder[key] = value
        elif is_added:
            holder[value] = copy.deepcopy(holder[key])
        else:
            members = [(value if name == key else name, member) for name, member in holder.items()]
            holder.clear()
            holder.update(members)
    return changed


def shown(path: Path) -> str:
    """The path as text, for the messages of tests."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}{'!' * (kind == 'name')}" for kind, key in path)
