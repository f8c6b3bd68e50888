"""openai-agents with its own WebSearchTool. In: a list of `{url, key, stream}`; out: of
`{output, kinds, cited}`."""

import asyncio
import json
import sys

from agents import Agent, OpenAIResponsesModel, Runner, WebSearchTool, set_tracing_disabled
from openai import AsyncOpenAI


async def run(plan: dict) -> dict:
    client = AsyncOpenAI(base_url=plan["url"], api_key=plan["key"], max_retries=0)
    model = OpenAIResponsesModel(model="SvcLLM", openai_client=client)
    agent = Agent(
        name="searcher", instructions="Search.", tools=[WebSearchTool(search_context_size="low")], model=model
    )
    if plan["stream"]:
        result = Runner.run_streamed(agent, "What is the capital of France?")
        async for _ in result.stream_events():
            pass
    else:
        result = await Runner.run(agent, "What is the capital of France?")
    items = [item for response in result.raw_responses for item in response.output]
    parts = [part for item in items if item.type == "message" for part in item.content]
    cited = [[part.text[note.start_index : note.end_index], note.url] for part in parts for note in part.annotations]
    return {"output": result.final_output, "kinds": [item.type for item in items], "cited": cited}


async def main() -> None:
    set_tracing_disabled(True)
    print(json.dumps([await run(plan) for plan in json.load(sys.stdin)]))


asyncio.run(main())
