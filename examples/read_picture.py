"""The text of a picture, block by block, each with its place. The first argument is the file."""

import base64
import os
import re
import sys
from pathlib import Path

from openai import OpenAI, OpenAIError


def main(client: OpenAI, path: Path) -> None:
    picture = base64.b64encode(path.read_bytes()).decode()

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


url = os.environ.get("GATEWAY_URL", "http://127.0.0.1:8080")
if len(sys.argv) != 2:
    sys.exit("which picture? read_picture.py FILE.png")
try:
    main(OpenAI(base_url=f"{url}/v1", api_key=os.environ.get("GATEWAY_KEY", "none")), Path(sys.argv[1]))
except (OpenAIError, OSError) as error:
    sys.exit(f"{url}: {error}" if isinstance(error, OpenAIError) else str(error))
