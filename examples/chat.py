"""A streamed answer, then a conversation whose first turn the gateway remembers."""

import os
import sys

from openai import OpenAI, OpenAIError


def main(client: OpenAI) -> None:
    stream = client.chat.completions.create(
        model="SvcLLM", messages=[{"role": "user", "content": "What is a gateway?"}], max_tokens=40, stream=True
    )
    for chunk in stream:
        if chunk.choices:
            print(chunk.choices[0].delta.content or "", end="", flush=True)
    print()

    first = client.responses.create(model="SvcLLM", input="My ship is called Albatross.", max_output_tokens=40)
    second = client.responses.create(
        model="SvcLLM", input="What is my ship called?", previous_response_id=first.id, max_output_tokens=40
    )
    print(second.output_text)


url = os.environ.get("GATEWAY_URL", "http://127.0.0.1:8080")
try:
    main(OpenAI(base_url=f"{url}/v1", api_key=os.environ.get("GATEWAY_KEY", "none")))
except OpenAIError as error:
    sys.exit(f"{url}: {error}")
