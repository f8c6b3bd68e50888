"""The Python SDK, 1.x line, run by its own interpreter. See tests/official.py for what goes in and out."""

import asyncio
import json
import sys
from typing import Any

from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamablehttp_client


async def main() -> None:
    plan = json.load(sys.stdin)
    headers = {"Authorization": f"Bearer {plan['key']}"} if plan["key"] else {}
    async with (
        streamablehttp_client(plan["url"], headers=headers) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        initialized = await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        answers = [await call(session, each) for each in plan["calls"]]
    told = {"protocol": initialized.protocolVersion, "server": initialized.serverInfo.name, "tools": tools}
    print(json.dumps({**told, "answers": answers}))


async def call(session: ClientSession, asked: dict[str, Any]) -> dict[str, Any]:
    steps: list[float] = []

    async def progressed(done: float, total: float | None, message: str | None) -> None:
        steps.append(done)

    callback = progressed if asked.get("progress") else None
    try:
        result = await session.call_tool(asked["name"], asked["arguments"], progress_callback=callback)
    except McpError as error:
        return {"code": error.error.code, "message": error.error.message, "steps": steps}
    text = result.content[0].text  # type: ignore[union-attr]
    return {"isError": result.isError, "text": text, "structured": result.structuredContent, "steps": steps}


asyncio.run(main())
