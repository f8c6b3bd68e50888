"""The body of an OpenAI-shaped endpoint: decoded once, checked once against its JSON Schema."""

import orjson

from gateway.errors import InvalidRequest
from gateway.model import Json
from gateway.schemas import Checker

MAX_DEPTH = 100
_COUNTED_BYTES = 16_384


def checked_body(raw: bytes, checker: Checker) -> Json:
    """Raises InvalidRequest: `invalid_json`, or naming the field and what is allowed."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(
            f"the body is not valid JSON (line {error.lineno}, column {error.colno})", code="invalid_json"
        ) from None
    if _may_be_deep(raw) and _depth_exceeds(body, MAX_DEPTH):
        raise InvalidRequest(f"the body is nested more than {MAX_DEPTH} levels deep", code="invalid_json")
    problems = checker.check(body, limit=1)
    if problems:
        raise InvalidRequest(f"{problems[0]}", param=problems[0].path or None)
    checked: Json = body
    return checked


def _may_be_deep(raw: bytes) -> bool:
    """Too short to be deep, or with too few brackets. Counting a long body would cost more than walking it."""
    if len(raw) > _COUNTED_BYTES:
        return True
    return len(raw) > 2 * MAX_DEPTH and raw.count(b"[") + raw.count(b"{") > MAX_DEPTH


def _depth_exceeds(value: object, levels: int) -> bool:
    layer: list[dict[str, object] | list[object]] = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        layer = [
            child
            for item in layer
            for child in (item.values() if type(item) is dict else item)
            if type(child) is dict or type(child) is list
        ]
        if not layer:
            return False
    return True
