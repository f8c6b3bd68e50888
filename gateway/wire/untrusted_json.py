"""What stands under a name in somebody else's JSON, in the shape that is expected there; empty for any other shape."""

from typing import Any

from gateway.domain import Json


def count_in(holder: Any, name: str) -> int:
    """A whole number, or 0."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, int) else 0


def table_in(holder: Any, name: str) -> Json:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}


def list_in(holder: Any, name: str) -> list[Any]:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, list) else []


def tables_in(holder: Any, name: str) -> list[Json]:
    """The objects of a list; what else stands in it is left out."""
    return [item for item in list_in(holder, name) if isinstance(item, dict)]


def texts_in(holder: Any, name: str) -> list[str]:
    """The strings of a list; what else stands in it is left out."""
    return [item for item in list_in(holder, name) if isinstance(item, str)]
