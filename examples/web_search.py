"""An answer for which the gateway searches, with the sources that the answer cites."""

import os

from openai import OpenAI

client = OpenAI(base_url=f"{os.environ['GATEWAY_URL']}/v1", api_key=os.environ["GATEWAY_KEY"])

answer = client.responses.create(
    model="SvcLLM",
    input="How long until a revoked key is refused?",
    tools=[{"type": "web_search", "search_context_size": "low"}],
    include=["web_search_call.action.sources"],
    max_output_tokens=60,
)
print(answer.output_text)
for item in answer.output:
    if item.type == "web_search_call":
        print("searched:", item.action.model_dump().get("query"))
        for source in item.action.model_dump().get("sources") or []:
            print("  read:", source["url"])
    elif item.type == "message":
        for part in item.content:
            for citation in getattr(part, "annotations", []):
                print("  cited:", citation.title, citation.url)
