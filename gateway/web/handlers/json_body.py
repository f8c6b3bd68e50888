"""Checks the decoded body of an OpenAI-shaped endpoint. Knows no field: the JSON Schema does."""

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.schemas import Checker
from gateway.wire.json_body import BadJson, JsonBody


def checked_body(body: JsonBody, checker: Checker) -> Json:
    """The decoded body, valid by the checker's schema.

    Raises InvalidRequest: code `invalid_json` (not JSON, or nested too deeply), else with the wrong field as `param`.
    """
    try:
        value: Json = body.value()
    except BadJson as problem:
        raise InvalidRequest(f"the body {problem}", code="invalid_json") from None
    problems = checker.check(value, limit=1)
    if problems:
        path, message = problems[0].path, problems[0].message
        raise InvalidRequest(str(problems[0]) if path else f"the body {message}", param=path or None)
    return value
