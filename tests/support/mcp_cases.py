"""The table of raw requests to the web-tools path: what is sent, and the HTTP status and JSON-RPC code that must come.

They stand in `tests/golden/mcp_requests.json`, a line each. A body that is a string is sent as it is, a letter a byte;
the code is null for a result. Without headers the request is read as revision 2025-03-26.
"""

import json
from typing import Any

from tests.support.paths import GOLDEN

NO_BODY = object()
"""The code of a request that is answered without a body."""


def _sent(body: Any) -> Any:
    return body.encode("latin-1") if isinstance(body, str) else body


def _code(recorded: Any) -> Any:
    return NO_BODY if recorded == "no body" else recorded


CASES: list[tuple[str, dict[str, str], Any, int, Any, Any]] = [
    (row["case"], row.get("headers", {}), _sent(row["body"]), row["status"], _code(row["code"]), row["id"])
    for row in json.loads((GOLDEN / "mcp_requests.json").read_text())
]
"""What it shows, headers, body, status, code, id."""
