"""What was masked in the arguments of a tool call is told with that call's outcome: alone, in batches, in failures."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.config.settings import GuardrailSettings, Sanitize, SanitizeActions
from gateway.errors import UpstreamError
from gateway.sanitize.guardrail import Guardrail
from tests.support.web_tools import tool_call
from tests.support.web_tools_site import WebToolsSite, web_tools_site

CARD, MAIL = "4539 1488 0343 6467", "jane.doe@posthaus.org"


async def outcomes(site: WebToolsSite, body: Any, **headers: str) -> list[Any]:
    """Of every answer, in order of their ids."""
    async with site.post(body, headers) as answer:
        assert answer.status == 200
        text = (await answer.read()).decode()
    if answer.content_type == "text/event-stream":
        told = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    else:
        told = orjson.loads(text) if isinstance(body, list) else [orjson.loads(text)]
    told.sort(key=lambda each: each["id"])
    return [orjson.loads(each["result"]["content"][0]["text"])["data"] for each in told]


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_each_member_of_a_batch_tells_what_was_found_in_it(tmp_path: Path, accept: str) -> None:
    queries = (f"pay {CARD} now", "nothing", f"{MAIL} and {CARD} and {CARD}", "fail")
    given = [*({"query": query} for query in queries), {"query": "fail", "exclude_domains": [CARD]}]
    calls = [tool_call("search", arguments, call_id=number) for number, arguments in enumerate(given)]
    async with web_tools_site(tmp_path) as site:
        found = await outcomes(site, calls, Accept=accept)
        assert ["error" in data for data in found] == [False, False, False, True, True]
        assert CARD not in str(found) and MAIL not in str(found)
        one, more = ({"redacted": each, "flagged": {}} for each in ({"CREDIT_CARD": 1}, {"CREDIT_CARD": 2, "EMAIL": 1}))
        assert [data.get("sanitization") for data in found] == [one, None, more, None, one]


async def test_a_call_that_is_refused_or_fails_tells_it_too(tmp_path: Path) -> None:
    settings = Sanitize(actions=SanitizeActions(requests={"EMAIL": "block"}))
    async with web_tools_site(tmp_path, sanitize=settings) as site:
        (refused,) = await outcomes(site, tool_call("search", {"query": f"{MAIL} {CARD}"}))
        both = {"CREDIT_CARD": 1, "EMAIL": 1}
        assert refused["error"]["type"] and refused["sanitization"] == {"redacted": both, "flagged": {}}
        assert "EMAIL" in str(refused["error"]) and MAIL not in str(refused) and site.tools.seen == []
        (wrong,) = await outcomes(site, tool_call("search", {"query": "x", "country": f"{CARD}"}))
        assert "country" in wrong["error"]["message"] and CARD not in str(wrong)


async def test_a_web_tool_that_went_on_without_the_guardrail_says_so(tmp_path: Path) -> None:
    class Broken:
        async def ask(self, body: Any, timeout_s: float) -> Any:
            raise UpstreamError("it is down")

    guardrail = Guardrail(GuardrailSettings(enabled="on", on_failure="open"), Broken(), "http://x", "m")
    async with web_tools_site(tmp_path, guardrail=guardrail) as site:
        async with site.post(tool_call("search", {"query": f"who is {MAIL}"})) as answer:
            result = (await answer.json())["result"]
            assert answer.headers["X-Gateway-Guardrail"] == "unavailable"
        assert site.tools.seen[0][1].query == "who is [REDACTED:EMAIL]"
        told = json.loads(result["content"][0]["text"])["data"]["sanitization"]
        assert told == {"redacted": {"EMAIL": 1}, "flagged": {}, "guardrail": "unavailable"}


async def test_a_url_that_was_asked_for_is_fetched_as_it_is(tmp_path: Path) -> None:
    url = "https://example.com/orders/4539148803436467?page=2"
    async with web_tools_site(tmp_path) as site:
        async with site.post(tool_call("extract", {"urls": [url]})) as answer:
            assert (await answer.json())["result"]["isError"] is False
        assert site.tools.seen[0][1].urls == (url,)
