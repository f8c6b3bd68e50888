"""An agent of the OpenAI agents SDK that has the gateway's web tools. Its model must be able to call tools."""

import asyncio
import os
import sys

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI

URL, KEY = os.environ.get("GATEWAY_URL", "http://127.0.0.1:8080"), os.environ.get("GATEWAY_KEY", "none")


async def main() -> None:
    set_tracing_disabled(True)
    tools = {"url": f"{URL}/tools/websearch/mcp", "headers": {"Authorization": f"Bearer {KEY}"}}
    async with MCPServerStreamableHttp(params=tools, cache_tools_list=True) as server:
        model = OpenAIResponsesModel(model="SvcLLM", openai_client=AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY))
        agent = Agent(name="reader", instructions="Use the tools.", model=model, mcp_servers=[server])
        result = await Runner.run(agent, os.environ.get("QUESTION", "What may a key do?"))
        print(result.final_output)


try:
    asyncio.run(main())
except Exception as error:
    while isinstance(error, ExceptionGroup):  # the client's task groups wrap the cause
        error = error.exceptions[0]
    sys.exit(f"{URL}: {error}")
