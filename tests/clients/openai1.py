"""The openai SDK of the 1.x line. In: a list of `{url, key, route, stream}`; out: of `{output, calls}`."""

import json
import sys

from openai import OpenAI

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}


def chat(client: OpenAI, stream: bool) -> tuple[str, list[object]]:
    tools = [{"type": "function", "function": {"name": "add", "parameters": SCHEMA}}]
    messages: list[dict[str, object]] = [{"role": "user", "content": "What is 2 and 3?"}]
    if stream:
        with client.beta.chat.completions.stream(model="SvcLLM", messages=messages, tools=tools) as events:
            for _ in events:
                pass
            message = events.get_final_completion().choices[0].message
    else:
        message = client.chat.completions.create(model="SvcLLM", messages=messages, tools=tools).choices[0].message
    calls = [json.loads(call.function.arguments) for call in message.tool_calls]
    messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
    for call in message.tool_calls:
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "5"})
    final = client.chat.completions.create(model="SvcLLM", messages=messages, tools=tools)
    return final.choices[0].message.content, calls


def responses(client: OpenAI, stream: bool) -> tuple[str, list[object]]:
    tools = [{"type": "function", "name": "add", "parameters": SCHEMA, "strict": False}]
    asked = {"model": "SvcLLM", "tools": tools}
    if stream:
        with client.responses.stream(input="What is 2 and 3?", **asked) as events:
            for _ in events:
                pass
            first = events.get_final_response()
    else:
        first = client.responses.create(input="What is 2 and 3?", **asked)
    calls = [item for item in first.output if item.type == "function_call"]
    outputs = [{"type": "function_call_output", "call_id": call.call_id, "output": "5"} for call in calls]
    final = client.responses.create(input=outputs, previous_response_id=first.id, **asked)
    return final.output_text, [json.loads(call.arguments) for call in calls]


def run(plan: dict[str, object]) -> dict[str, object]:
    client = OpenAI(base_url=plan["url"], api_key=plan["key"], max_retries=0)
    output, calls = (responses if plan["route"] == "responses" else chat)(client, plan["stream"])
    return {"output": output, "calls": calls}


print(json.dumps([run(plan) for plan in json.load(sys.stdin)]))
