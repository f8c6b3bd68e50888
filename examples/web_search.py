"""An answer for which the gateway searches, with the sources that the answer cites."""

import os
import sys

from openai import OpenAI, OpenAIError


def main(client: OpenAI) -> None:
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


url = os.environ.get("GATEWAY_URL", "http://127.0.0.1:8080")
try:
    main(OpenAI(base_url=f"{url}/v1", api_key=os.environ.get("GATEWAY_KEY", "none")))
except OpenAIError as error:
    sys.exit(f"{url}: {error}")
