"""Recorded sites: what a crawl, a map and an extract give of them, in which order, and why not more."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gateway.domain import CrawlRequest, ExtractRequest, Json
from gateway.errors import InvalidRequest
from tests.support.paths import GOLDEN
from tests.support.websites import Answer, Site, engine, page, serving

SITES = json.loads((GOLDEN / "sites.json").read_text("utf-8"))
"""By a sentence: pages by their paths (title, words and links; or markup; or a whole answer), and calls with what they
give: addresses (sorted unless they are ordered), how texts begin, other fields, failures, the note or the error, and
what is not asked for meanwhile. `SITE` is the address of the site, `LOCAL` another of its addresses.
"""


def answer_of(made: Any) -> Answer:
    if isinstance(made, list):
        return page(*made)
    return made if isinstance(made, str) else (made.get("status", 200), made["headers"], made["body"].encode())


def check(data: Json, call: Json, url: str) -> None:
    found = [each if call["tool"] == "map" else each["url"] for each in data["results"]]
    paths = [each.removeprefix(url) for each in found]
    assert (paths if "is_ordered" in call else sorted(paths)) == call["results"]
    for path, words in call.get("texts", {}).items():
        assert data["results"][paths.index(path)]["raw_content"].startswith(words)
    for path, fields in call.get("fields", {}).items():
        result = data["results"][paths.index(path)]
        assert {name: result.get(name) for name in fields} == fields
    if "failed" in call:
        failures = {each["url"].removeprefix(url): each["error"] for each in data["failed_results"]}
        assert failures.keys() == call["failed"].keys()
        assert [failures[path] for path, words in call["failed"].items() if words not in failures[path]] == []
    assert call.get("note", "") in data.get("note", "")


def whole(value: Any, url: str) -> Any:
    """A field of a request, whose paths are addresses of the site."""
    if isinstance(value, list):
        return tuple(whole(each, url) for each in value)
    return f"{url}{value}" if str(value).startswith("/") else value


@pytest.mark.slow  # a parse process
@pytest.mark.parametrize("sentence", SITES)
async def test_a_call_gives_what_is_recorded_of_a_site(tmp_path: Path, sentence: str) -> None:
    async with serving(Site()) as site, engine(tmp_path, (site.address, f"localhost:{site.port}")) as made:
        recorded = json.dumps(SITES[sentence]).replace("SITE", site.url)
        case = json.loads(recorded.replace("LOCAL", f"http://localhost:{site.port}"))
        site.pages = {path: answer_of(each) for path, each in case["pages"].items()}
        for call in case["calls"]:
            site.asked.clear()
            fields = {name: whole(each, site.url) for name, each in call["request"].items()}
            request = ExtractRequest(**fields) if "urls" in fields else CrawlRequest(**fields)
            asking = getattr(made.service, call["tool"])(request, made.call())
            if "error" in call:
                with pytest.raises(InvalidRequest, match=re.escape(call["error"])):
                    await asking
            else:
                check(await asking, call, site.url)
            assert not {*call.get("not_asked", ())} & {*site.asked}
