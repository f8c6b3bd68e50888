"""Asks through LiteLLM and reports the class of the error that it raises.

In: `{url, key, stream}`; out: `{error, text}`.
"""

import json
import os
import sys
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it fetches its list of models otherwise

import litellm

litellm.suppress_debug_info = True  # it writes to the standard output otherwise


def main() -> None:
    plan = json.load(sys.stdin)
    report: dict[str, Any] = {"error": "", "text": ""}
    try:
        answer = litellm.completion(
            model="openai/SvcLLM",
            messages=[{"role": "user", "content": "x"}],
            api_base=plan["url"],
            api_key=plan["key"],
            stream=plan["stream"],
            num_retries=0,
            max_retries=0,
        )
        if plan["stream"]:
            for chunk in answer:
                report["text"] += chunk.choices[0].delta.content or "" if chunk.choices else ""
        else:
            report["text"] = answer.choices[0].message.content
    except litellm.exceptions.MidStreamFallbackError as error:
        report["error"] = f"MidStreamFallbackError({type(error.original_exception).__name__})"
    except Exception as error:
        report["error"] = type(error).__name__
    print(json.dumps(report))


main()
