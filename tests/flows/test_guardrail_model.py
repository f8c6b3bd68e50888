"""The guardrail on the embedded language model, end to end: one judgement by a real model, and what the status says."""

import re
from pathlib import Path

from tests.support.asking import call_tool
from tests.support.gateways import NEEDS_MODEL, start_process

pytestmark = NEEDS_MODEL

TOML = '[local_ocr]\nenabled = false\n[guardrail]\nenabled = "on"\ntimeout_s = 20\non_failure = "open"\n'


async def test_a_search_is_judged_by_the_embedded_model(tmp_path: Path) -> None:
    """A small model may find nothing, or answer badly: then the policy, here open, lets the search go on."""
    with start_process(tmp_path, TOML, embedded=True) as gateway:
        _, before = await call_tool(gateway, "search_status")
        assert (before["guardrail"]["enabled"], before["guardrail"]["status"]) == (True, "unknown")
        _, found = await call_tool(gateway, "search", {"query": "patient of card 4539 1488 0343 6467"})
        assert "[REDACTED:CREDIT_CARD]" in found["query"] and not re.search(r"\b4539\b", str(found))
        assert found["sanitization"]["redacted"]["CREDIT_CARD"] == 1
        _, after = await call_tool(gateway, "search_status")
        assert after["guardrail"]["status"] in ("ok", "degraded")
