# ruff: noqa: E501 - one line a case
"""The table of raw requests to the web-tools path: what is sent, and the HTTP status and JSON-RPC code that must come.

A case is (what it shows, headers, body, status, code, id). `code` None means a result, NO_BODY none at all; a body of bytes is sent as it is. Without headers the request is read as revision 2025-03-26.
"""

from typing import Any

from tests.support.web_tools import modern, request, tool_call

NO_BODY = object()
LATEST = {"MCP-Protocol-Version": "2025-11-25"}
MIDDLE = {"MCP-Protocol-Version": "2025-06-18"}
STATUS = tool_call("search_status")
INITIALIZE = request("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "x"}})

Case = tuple[str, dict[str, str], Any, int, object, Any]


def _both(name: str, pair: tuple[Any, dict[str, str]], status: int, code: object, call_id: Any = 1) -> Case:
    body, headers = pair
    return (name, headers, body, status, code, call_id)


def _without_meta(method: str) -> tuple[Any, dict[str, str]]:
    return request(method, {}), modern(method)[1]


def _meta(**meta: Any) -> Any:
    return {"_meta": {f"io.modelcontextprotocol/{name}": value for name, value in meta.items()}}


PARSING: list[Case] = [
    ("an empty body", {}, b"", 400, -32700, None),
    ("a body that is not JSON", {}, b"{", 400, -32700, None),
    ("text after the value", {}, b"{} {}", 400, -32700, None),
    ("invalid UTF-8", {}, b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', 400, -32700, None),
    ("a byte order mark", {}, b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', 400, -32700, None),
    ("NaN", {}, b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', 400, -32700, None),
    ("Infinity", {}, b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":Infinity}}', 400, -32700, None),
    ("a number beyond all floats", {}, b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}', 400, -32700, None),
    ("half a surrogate pair", {}, b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', 400, -32700, None),
    ("a raw control character", {}, b'{"jsonrpc":"2.0","id":"\n","method":"ping"}', 400, -32700, None),
    ("single quotes", {}, b"{'jsonrpc':'2.0','id':1,'method':'ping'}", 400, -32700, None),
    ("a trailing comma", {}, b'{"jsonrpc":"2.0","id":1,"method":"ping",}', 400, -32700, None),
    ("2000 levels of nesting", {}, b"[" * 2000 + b"]" * 2000, 400, -32700, None),
    ("200 levels of nesting", {}, b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 200 + b"1" + b"}" * 201, 400, -32700, None),
    ("many brackets side by side", {}, request("ping", {"a": [[]] * 500}), 200, None, 1),
    ("duplicate keys: the last counts", {}, b'{"jsonrpc":"2.0","id":1,"id":2,"method":"x","method":"ping"}', 200, None, 2),
    ("white space around it", {}, b' \r\n\t{"jsonrpc":"2.0","id":1,"method":"ping"}\n', 200, None, 1),
]  # fmt: skip

ENVELOPE: list[Case] = [
    ("a number", {}, b"5", 400, -32600, None),
    ("null", {}, b"null", 400, -32600, None),
    ("a string", {}, b'"ping"', 400, -32600, None),
    ("an empty object", {}, {}, 400, -32600, None),
    ("no jsonrpc", {}, {"id": 1, "method": "ping"}, 400, -32600, 1),
    ("jsonrpc 1.0", {}, {"jsonrpc": "1.0", "id": 1, "method": "ping"}, 400, -32600, 1),
    ("jsonrpc as a number", {}, {"jsonrpc": 2.0, "id": 1, "method": "ping"}, 400, -32600, 1),
    ("no method", {}, {"jsonrpc": "2.0", "id": 1}, 400, -32600, 1),
    ("method as a number", {}, {"jsonrpc": "2.0", "id": 1, "method": 1}, 400, -32600, 1),
    ("method null", {}, {"jsonrpc": "2.0", "id": 1, "method": None}, 400, -32600, 1),
    ("an empty method", {}, request("", None), 400, -32600, 1),
    ("id null", {}, request("ping", None, None), 400, -32600, None),
    ("id true", {}, request("ping", None, True), 400, -32600, None),
    ("id with a fraction", {}, request("ping", None, 1.5), 400, -32600, None),
    ("id 1.0", {}, request("ping", None, 1.0), 400, -32600, None),
    ("id object", {}, request("ping", None, {}), 400, -32600, None),
    ("id list", {}, request("ping", None, [1]), 400, -32600, None),
    ("id beyond 64 bits", {}, b'{"jsonrpc":"2.0","id":18446744073709551616,"method":"ping"}', 400, -32600, None),
    ("the largest id", {}, request("ping", None, 2**63 - 1), 200, None, 2**63 - 1),
    ("a negative id", {}, request("ping", None, -7), 200, None, -7),
    ("id 0", {}, request("ping", None, 0), 200, None, 0),
    ("an empty string id", {}, request("ping", None, ""), 200, None, ""),
    ("a string id that looks like a number", {}, request("ping", None, "1"), 200, None, "1"),
    ("a string id beyond ASCII", {}, request("ping", None, "é🙂"), 200, None, "é🙂"),
    ("params null", {}, {**request("ping"), "params": None}, 200, None, 1),
    ("params a string", {}, request("ping", "x"), 400, -32600, 1),
    ("params a list", LATEST, request("ping", [1]), 200, -32602, 1),
    ("unknown members are left alone", {}, {**request("ping"), "extra": 1}, 200, None, 1),
    ("a notification", LATEST, {"jsonrpc": "2.0", "method": "notifications/initialized"}, 202, NO_BODY, None),
    ("an unknown notification", LATEST, {"jsonrpc": "2.0", "method": "notifications/x"}, 202, NO_BODY, None),
    ("a notification with odd params", LATEST, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}}, 202, NO_BODY, None),
    ("a method sent as a notification", LATEST, {"jsonrpc": "2.0", "method": "tools/list"}, 202, NO_BODY, None),
    ("a notification with a list of params", LATEST, {"jsonrpc": "2.0", "method": "notifications/x", "params": []}, 202, NO_BODY, None),
    ("a posted result", LATEST, {"jsonrpc": "2.0", "id": 1, "result": {}}, 202, NO_BODY, None),
    ("a posted error", LATEST, {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}}, 202, NO_BODY, None),
    ("a result and an error", LATEST, {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}, 400, -32600, 1),
]  # fmt: skip

METHODS: list[Case] = [
    *(
        (f"initialize asking for {version}", {}, request("initialize", {"protocolVersion": version}), 200, None, 1)
        for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1.0", "")
    ),
    ("initialize without a version", {}, request("initialize", {}), 200, -32602, 1),
    ("initialize with a version of another type", {}, request("initialize", {"protocolVersion": 5}), 200, -32602, 1),
    ("initialize with a strange version header", {"MCP-Protocol-Version": "1999-01-01"}, INITIALIZE, 200, None, 1),
    ("initialize with the modern header", {"MCP-Protocol-Version": "2026-07-28"}, INITIALIZE, 200, None, 1),
    ("ping", LATEST, request("ping"), 200, None, 1),
    ("tools/list", LATEST, request("tools/list"), 200, None, 1),
    ("tools/list with a null cursor", LATEST, request("tools/list", {"cursor": None}), 200, None, 1),
    ("tools/list with a cursor", LATEST, request("tools/list", {"cursor": "x"}), 200, -32602, 1),
    ("tools/list with an empty cursor", LATEST, request("tools/list", {"cursor": ""}), 200, -32602, 1),
    ("an unknown method", LATEST, request("x"), 200, -32601, 1),
    ("a method in other case", LATEST, request("Tools/List"), 200, -32601, 1),
    ("prompts/list", LATEST, request("prompts/list"), 200, -32601, 1),
    ("resources/list", LATEST, request("resources/list"), 200, -32601, 1),
    ("logging/setLevel", LATEST, request("logging/setLevel", {"level": "info"}), 200, -32601, 1),
    ("server/discover of a handshake client", LATEST, request("server/discover"), 200, -32601, 1),
    ("an unknown version header", {"MCP-Protocol-Version": "1999-01-01"}, request("ping"), 400, -32022, 1),
    ("a version header that is no version", {"MCP-Protocol-Version": "?"}, request("ping"), 400, -32022, 1),
    ("tools/call", LATEST, STATUS, 200, None, 1),
    ("tools/call without arguments", LATEST, tool_call("search_status"), 200, None, 1),
    ("tools/call with arguments null", LATEST, request("tools/call", {"name": "websearch-search_status", "arguments": None}), 200, None, 1),
    ("tools/call without params", LATEST, request("tools/call"), 200, -32602, 1),
    ("tools/call without a name", LATEST, request("tools/call", {"arguments": {}}), 200, -32602, 1),
    ("tools/call with a name that is no string", LATEST, request("tools/call", {"name": 5}), 200, -32602, 1),
    ("tools/call of an unknown tool", LATEST, tool_call("x"), 200, -32602, 1),
    ("tools/call of a tool in other case", LATEST, tool_call("Search", {"query": "x"}), 200, -32602, 1),
    ("tools/call with a list of arguments", LATEST, tool_call("search", ["x"]), 200, -32602, 1),
    ("tools/call with a string of arguments", LATEST, tool_call("search", "x"), 200, -32602, 1),
    ("tools/call with wrong arguments is a result", LATEST, tool_call("search", {}), 200, None, 1),
    ("a progress token of another type", LATEST, tool_call("search_status", {}, token=1.5), 200, -32602, 1),
]  # fmt: skip

BATCHES: list[Case] = [
    ("an empty batch", {}, [], 400, -32600, None),
    ("a batch over the cap", {}, [request("ping")] * 51, 400, -32600, None),
    ("a batch of notifications", {}, [{"jsonrpc": "2.0", "method": "notifications/x"}] * 2, 202, NO_BODY, None),
    ("a batch of posted responses", {}, [{"jsonrpc": "2.0", "id": 1, "result": {}}], 202, NO_BODY, None),
    ("a batch in 2025-06-18", MIDDLE, [request("ping")], 400, -32600, None),
    ("a batch in 2025-11-25", LATEST, [request("ping")], 400, -32600, None),
    ("a batch in 2026-07-28", {"MCP-Protocol-Version": "2026-07-28"}, [request("ping")], 400, -32600, None),
    ("a batch of an unknown revision", {"MCP-Protocol-Version": "x"}, [request("ping")], 400, -32022, None),
]

MODERN: list[Case] = [
    _both("server/discover", modern("server/discover"), 200, None),
    _both("tools/list", modern("tools/list"), 200, None),
    _both("tools/call", modern("tools/call", {"name": "websearch-search_status"}), 200, None),
    _both("a string id", modern("tools/list", call_id="a"), 200, None, "a"),
    _both("no _meta", _without_meta("tools/list"), 400, -32602),
    _both("a _meta without capabilities", (request("tools/list", _meta(protocolVersion="2026-07-28")), modern("tools/list")[1]), 400, -32602),
    _both("clientInfo that is no object", modern("tools/list", _meta(clientInfo="x")), 400, -32602),
    _both("capabilities that are no object", modern("tools/list", _meta(clientCapabilities=[])), 400, -32602),
    _both("no version header", modern("tools/list", version=None), 400, -32020),
    _both("a version header that differs", modern("tools/list", _meta(protocolVersion="2099-01-01")), 400, -32020),
    _both("a handshake header that differs is a handshake request", modern("tools/list", version="2025-06-18"), 200, None),
    _both("an unknown version, told twice", modern("tools/list", _meta(protocolVersion="2099-01-01"), version="2099-01-01"), 400, -32022),
    _both("no method header", modern("tools/list", method=None), 400, -32020),
    _both("a method header that differs", modern("tools/list", method="tools/call"), 400, -32020),
    _both("a method header in other case", modern("tools/list", method="Tools/List"), 400, -32020),
    _both("white space around a header", modern("tools/list", method=" tools/list\t"), 200, None),
    _both("no name header", modern("tools/call", {"name": "websearch-search_status"}, name=None), 400, -32020),
    _both("a name header that differs", modern("tools/call", {"name": "websearch-search_status"}, name="x"), 400, -32020),
    _both("a name header in base64", modern("tools/call", {"name": "websearch-search_status"}, name="=?base64?d2Vic2VhcmNoLXNlYXJjaF9zdGF0dXM=?="), 200, None),
    _both("a name header in broken base64", modern("tools/call", {"name": "websearch-search_status"}, name="=?base64?!?="), 400, -32020),
    _both("an unknown tool", modern("tools/call", {"name": "x"}), 400, -32602),
    _both("a list of arguments", modern("tools/call", {"name": "websearch-search", "arguments": []}), 400, -32602),
    _both("wrong arguments are a result", modern("tools/call", {"name": "websearch-search", "arguments": {}}), 200, None),
    _both("initialize", modern("initialize", {"protocolVersion": "2026-07-28"}), 404, -32601),
    _both("ping", modern("ping"), 404, -32601),
    _both("logging/setLevel", modern("logging/setLevel"), 404, -32601),
    _both("prompts/list", modern("prompts/list"), 404, -32601),
    _both("subscriptions/listen", modern("subscriptions/listen"), 404, -32601),
    _both("an unknown cursor", modern("tools/list", {"cursor": "x"}), 400, -32602),
    _both("a posted response", ({"jsonrpc": "2.0", "id": 1, "result": {}}, modern("ping")[1]), 400, -32600, None),
    _both("a notification", ({"jsonrpc": "2.0", "method": "notifications/x"}, modern("ping")[1]), 202, NO_BODY, None),
    _both("params a list", (request("tools/list", []), modern("tools/list")[1]), 400, -32602),
]  # fmt: skip

CASES = [*PARSING, *ENVELOPE, *METHODS, *BATCHES, *MODERN]
