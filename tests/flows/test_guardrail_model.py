"""The guardrail on the embedded language model, end to end: one judgement by a real model, and what the status says."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.gateways import NEEDS_MODEL, start_process
from tests.support.web_tools import tool_call

pytestmark = NEEDS_MODEL

TOML = '[local_ocr]\nenabled = false\n[guardrail]\nenabled = "on"\ntimeout_s = 30\non_failure = "open"\n'


async def test_a_search_is_judged_by_the_embedded_model(tmp_path: Path) -> None:
    """A small model may find nothing, or answer badly: then the policy, here open, lets the search go on."""
    with start_process(tmp_path, TOML, embedded=True) as gateway:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=150)) as session:

            async def data_of(call: Any) -> Any:
                headers = {"Authorization": f"Bearer {gateway.key}", "Accept": "application/json"}
                url = f"{gateway.url}/tools/websearch/mcp"
                async with session.post(url, json=call, headers=headers) as answer:
                    return json.loads((await answer.json())["result"]["content"][0]["text"])["data"]

            before = await data_of(tool_call("search_status"))
            assert (before["guardrail"]["enabled"], before["guardrail"]["status"]) == (True, "unknown")
            async with asyncio.timeout(60):
                found = await data_of(tool_call("search", {"query": "patient of card 4539 1488 0343 6467"}))
            assert "[REDACTED:CREDIT_CARD]" in found["query"] and not re.search(r"\b4539\b", str(found))
            assert found["sanitization"]["redacted"]["CREDIT_CARD"] == 1
            after = await data_of(tool_call("search_status"))
            assert after["guardrail"]["status"] in ("ok", "degraded")
