"""A streamed answer, then a conversation whose first turn the gateway remembers."""

import os

from openai import OpenAI

client = OpenAI(base_url=f"{os.environ['GATEWAY_URL']}/v1", api_key=os.environ["GATEWAY_KEY"])

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
