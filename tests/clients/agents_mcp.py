"""openai-agents with a hosted MCP tool. In: a list of `{url, key, stream, approval}`; out: of
`{output, asked}`."""

import asyncio
import json
import sys

from agents import Agent, HostedMCPTool, OpenAIResponsesModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

ASKED: list[str] = []


def approve(request):
    ASKED.append(request.data.name)
    return {"approve": True}


async def run(plan: dict) -> dict:
    ASKED.clear()
    client = AsyncOpenAI(base_url=plan["url"], api_key=plan["key"], max_retries=0)
    config = {"type": "mcp", "server_label": "words", "require_approval": plan["approval"]}
    tool = HostedMCPTool(tool_config=config, on_approval_request=approve)
    agent = Agent(name="reader", tools=[tool], model=OpenAIResponsesModel(model="SvcLLM", openai_client=client))
    if plan["stream"]:
        result = Runner.run_streamed(agent, "What does sea mean?")
        async for _ in result.stream_events():
            pass
    else:
        result = await Runner.run(agent, "What does sea mean?")
    return {"output": result.final_output, "asked": list(ASKED)}


async def main() -> None:
    set_tracing_disabled(True)
    print(json.dumps([await run(plan) for plan in json.load(sys.stdin)]))


asyncio.run(main())
