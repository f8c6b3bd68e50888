"""A server made with the official SDK. Argument: its port. Tools: `add`, and `fail`, which raises."""

import sys

from mcp.server import MCPServer

server = MCPServer("official", log_level="ERROR")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Always fails."""
    raise ValueError("it failed as it should")


server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
