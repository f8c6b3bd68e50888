"""The Python SDK, 2.x line. See tests/official.py for what goes in and out."""

import asyncio
import json
import sys
from typing import Any

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client


async def main() -> None:
    plan = json.load(sys.stdin)
    headers = {"Authorization": f"Bearer {plan['key']}"} if plan["key"] else {}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(plan["url"], http_client=http)
        async with Client(transport, mode=plan["mode"]) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            answers = [await call(client, each) for each in plan["calls"]]
            server = client.server_info and client.server_info.name  # a pinned client asks for no introduction
            told = {"protocol": client.protocol_version, "server": server, "tools": tools}
    print(json.dumps({**told, "answers": answers}))


async def call(client: Client, asked: dict[str, Any]) -> dict[str, Any]:
    steps: list[float] = []

    async def progressed(done: float, total: float | None, message: str | None) -> None:
        steps.append(done)

    callback = progressed if asked.get("progress") else None
    try:
        result = await client.call_tool(asked["name"], asked["arguments"], progress_callback=callback)
    except MCPError as error:
        return {"code": error.error.code, "message": error.error.message, "steps": steps}
    text = result.content[0].text
    return {"isError": result.is_error, "text": text, "structured": result.structured_content, "steps": steps}


asyncio.run(main())
