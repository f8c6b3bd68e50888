"""Decodes and checks the body of an OpenAI-shaped endpoint, once. Knows no field: the JSON Schema does."""

import orjson

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.schemas import MAX_DEPTH, MEASURED_BYTES, Checker, is_too_deep
from gateway.wire.large_json import decode


def checked_body(raw: bytes | bytearray, checker: Checker) -> Json:
    """The decoded body, valid by the checker's schema. A bytearray is empty afterwards.

    Raises InvalidRequest: code `invalid_json` (not JSON, or nested too deeply), else with the wrong field as `param`.
    """
    is_measured = len(raw) > MEASURED_BYTES
    try:
        body = decode(raw)
    except orjson.JSONDecodeError as error:
        if not is_measured and not raw.strip():
            raise InvalidRequest("the body is empty; send a JSON object", code="invalid_json") from None
        raise InvalidRequest(
            f"the body is not valid JSON in UTF-8: {error.msg} (line {error.lineno}, column {error.colno})",
            code="invalid_json",
        ) from None
    if not is_measured and is_too_deep(raw, body):
        raise InvalidRequest(f"the body is nested more than {MAX_DEPTH} levels deep", code="invalid_json")
    problems = checker.check(body, limit=1)
    if problems:
        path, message = problems[0].path, problems[0].message
        raise InvalidRequest(str(problems[0]) if path else f"the body {message}", param=path or None)
    checked: Json = body
    return checked
