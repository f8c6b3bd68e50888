"""langchain-openai with a tool whose result is an image. In: `{url, key, route, stream, image}`; out: `{output}`."""

import json
import sys

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def look() -> str:
    """Looks at the page."""
    return ""


def main() -> None:
    plan = json.load(sys.stdin)
    model = ChatOpenAI(
        base_url=plan["url"], api_key=plan["key"], model="SvcLLM", max_retries=0, use_responses_api=True
    ).bind_tools([look])
    messages = [HumanMessage("What do you see?")]
    answer = model.invoke(messages)
    image = {"type": "input_image", "image_url": plan["image"]}
    for call in answer.tool_calls:
        messages += [answer, ToolMessage([{"type": "input_text", "text": "a page"}, image], tool_call_id=call["id"])]
    first = model.invoke(messages)
    messages += [first, HumanMessage("And now?")]  # the image stays in the history
    print(json.dumps({"output": [first.text, model.invoke(messages).text]}))


main()
