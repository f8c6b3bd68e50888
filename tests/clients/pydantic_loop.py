"""pydantic-ai with a tool. In: a list of `{url, key, route, stream}`; out: of `{output, calls}`."""

import asyncio
import json
import sys

from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider


def model_of(plan: dict):
    if plan["route"] == "messages":
        base = plan["url"].removesuffix("/v1")
        return AnthropicModel("SvcLLM", provider=AnthropicProvider(base_url=base, api_key=plan["key"]))
    kind = OpenAIChatModel if plan["route"] == "chat" else OpenAIResponsesModel
    return kind("SvcLLM", provider=OpenAIProvider(base_url=plan["url"], api_key=plan["key"]))


async def run(plan: dict) -> dict:
    agent, calls = Agent(model_of(plan)), []

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        calls.append({"a": a, "b": b})
        return a + b

    question = "What is 2 and 3?"
    if not plan["stream"]:
        return {"output": (await agent.run(question)).output, "calls": calls}

    async def read(context, events):
        async for _ in events:
            pass

    return {"output": (await agent.run(question, event_stream_handler=read)).output, "calls": calls}


async def main() -> None:
    print(json.dumps([await run(plan) for plan in json.load(sys.stdin)]))


asyncio.run(main())
