"""The text of a picture, block by block, each with its place. The first argument is the file."""

import base64
import os
import re
import sys
from pathlib import Path

from openai import OpenAI

client = OpenAI(base_url=f"{os.environ['GATEWAY_URL']}/v1", api_key=os.environ["GATEWAY_KEY"])
picture = base64.b64encode(Path(sys.argv[1]).read_bytes()).decode()

answer = client.chat.completions.create(
    model="SvcOCR",
    temperature=0,
    max_tokens=8000,
    messages=[
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "<image>\n<|grounding|>Convert the document to markdown."},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}},
            ],
        }
    ],
)
text = answer.choices[0].message.content or ""
for label, box in re.findall(r"^(\w+)(\[\[.*?\]\])$", text, re.MULTILINE):
    print(label, "at", box)
print(re.sub(r"^\w+\[\[.*?\]\]$\n?", "", text, flags=re.MULTILINE))
