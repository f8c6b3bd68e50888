"""langchain-openai with a tool. In: a list of `{url, key, route, stream}`; out: of `{output, calls}`."""

import json
import sys

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def run(plan: dict) -> dict:
    model = ChatOpenAI(
        base_url=plan["url"],
        api_key=plan["key"],
        model="SvcLLM",
        max_retries=0,
        stream_usage=True,
        use_responses_api=plan["route"] == "responses",
    ).bind_tools([add])

    def ask(messages):
        if not plan["stream"]:
            return model.invoke(messages)
        whole = None
        for chunk in model.stream(messages):
            whole = chunk if whole is None else whole + chunk
        return whole

    messages = [HumanMessage("What is 2 and 3?")]
    answer = ask(messages)
    calls = [call["args"] for call in answer.tool_calls]
    messages.append(answer)
    for call in answer.tool_calls:
        messages.append(ToolMessage(str(add.invoke(call["args"])), tool_call_id=call["id"]))
    final = ask(messages)
    text = final.text if isinstance(final.text, str) else final.text()
    return {"output": text, "calls": calls, "total": final.usage_metadata["total_tokens"]}


print(json.dumps([run(plan) for plan in json.load(sys.stdin)]))
