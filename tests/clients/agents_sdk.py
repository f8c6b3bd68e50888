"""openai-agents with a tool. In: a list of `{url, key, route, stream, tool, approval}`; out: of `{output, kinds, cited,
calls, asked}`. `tool`: `add`, a function; `words`, a hosted MCP server; `search`, the hosted web search.
"""

import asyncio
import json
import sys
from typing import Any

from agents import (
    Agent,
    HostedMCPTool,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    WebSearchTool,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI


async def run(plan: dict[str, Any]) -> dict[str, Any]:
    calls, asked = [], []

    @function_tool
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        calls.append({"a": a, "b": b})
        return a + b

    def approve(request: Any) -> dict[str, bool]:
        asked.append(request.data.name)
        return {"approve": True}

    words: Any = {"type": "mcp", "server_label": "words", "require_approval": plan.get("approval")}
    tools = {
        "add": add,
        "words": HostedMCPTool(tool_config=words, on_approval_request=approve),
        "search": WebSearchTool(search_context_size="low"),
    }
    client = AsyncOpenAI(base_url=plan["url"], api_key=plan["key"], max_retries=0)
    kind = OpenAIChatCompletionsModel if plan.get("route") == "chat" else OpenAIResponsesModel
    model = kind(model="SvcLLM", openai_client=client)
    agent = Agent(name="agent", instructions="Answer.", tools=[tools[plan.get("tool", "add")]], model=model)
    if plan["stream"]:
        result = Runner.run_streamed(agent, "What is it?")
        async for _ in result.stream_events():
            pass
    else:
        result = await Runner.run(agent, "What is it?")
    items = [item for response in result.raw_responses for item in response.output]
    parts = [part for item in items if item.type == "message" for part in item.content]
    cited = [[part.text[note.start_index : note.end_index], note.url] for part in parts for note in part.annotations]
    kinds = [item.type for item in items]
    return {"output": result.final_output, "kinds": kinds, "cited": cited, "calls": calls, "asked": asked}


async def main() -> None:
    set_tracing_disabled(True)
    print(json.dumps([await run(plan) for plan in json.load(sys.stdin)]))


asyncio.run(main())
