"""openai-agents with a function tool. In: a list of `{url, key, route, stream}`; out: of `{output, calls}`."""

import asyncio
import json
import sys

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

CALLS: list[dict[str, int]] = []


@function_tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    CALLS.append({"a": a, "b": b})
    return a + b


async def run(plan: dict) -> dict:
    CALLS.clear()
    client = AsyncOpenAI(base_url=plan["url"], api_key=plan["key"], max_retries=0)
    kind = OpenAIResponsesModel if plan["route"] == "responses" else OpenAIChatCompletionsModel
    agent = Agent(name="adder", instructions="Add.", tools=[add], model=kind(model="SvcLLM", openai_client=client))
    if plan["stream"]:
        streamed = Runner.run_streamed(agent, "What is 2 and 3?")
        async for _ in streamed.stream_events():
            pass
        output = streamed.final_output
    else:
        output = (await Runner.run(agent, "What is 2 and 3?")).final_output
    return {"output": output, "calls": list(CALLS)}


async def main() -> None:
    set_tracing_disabled(True)
    print(json.dumps([await run(plan) for plan in json.load(sys.stdin)]))


asyncio.run(main())
