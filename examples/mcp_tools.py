"""Reads a page with the web tools, then searches in what was read. PAGE is its address."""

import asyncio
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL, KEY = os.environ.get("GATEWAY_URL", "http://127.0.0.1:8080"), os.environ.get("GATEWAY_KEY", "none")
PAGE = os.environ.get("PAGE", "http://127.0.0.1:9464/docs/keys-and-limits")


async def main() -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx2.AsyncClient(headers=headers, timeout=120) as http:
        transport = streamable_http_client(f"{URL}/tools/websearch/mcp", http_client=http)
        async with Client(transport) as client:
            print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
            read = await client.call_tool("websearch-extract", {"urls": [PAGE]})
            for page in read.structured_content["data"]["results"]:
                print("read:", page["title"], f"({len(page['raw_content'])} characters)")
            found = await client.call_tool("websearch-search", {"query": "what a key may do", "max_results": 3})
            for hit in found.structured_content["data"]["results"]:
                print(f"found: {hit['score']:.2f} {hit['title']} {hit['url']}")


def reason(error: BaseException) -> str:
    """The first cause: the client's task groups wrap it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)


try:
    asyncio.run(main())
except Exception as error:
    sys.exit(f"{URL}: {reason(error)}")
