"""`gateway call` and its kin: arguments from the shell, results as text, refusals that say what to do."""

import argparse
import io
import json
from typing import Any

import pytest
from aiohttp import web

from gateway.cli.call import Gateway, arguments_from, call_tool, readable
from gateway.cli.options import Paint, count, duration_s, port
from gateway.config.environment import Environment
from gateway.domain import Json
from gateway.errors import InvalidRequest, UpstreamError
from tests.support.websites import Site, serving

PLAIN = Paint(io.StringIO(), Environment())


def test_a_value_is_json_where_it_can_be_and_text_elsewhere() -> None:
    pairs = ["query=a b", "max_results=3", 'urls=["x"]', "exact_match=true", "empty=", "equation=a=b"]
    assert arguments_from(pairs) == {
        "query": "a b", "max_results": 3, "urls": ["x"], "exact_match": True, "empty": "", "equation": "a=b",
    }  # fmt: skip


@pytest.mark.parametrize("pair", ["query", "=value", ""])
def test_what_is_no_pair_is_refused_with_the_form_that_is_wanted(pair: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^'{pair}' is not an argument; write key=value$"):
        arguments_from([pair])


def results(note: str = "", **result: Any) -> Json:
    return {"results": [{"title": "T", "url": "u", **result}], **({"note": note} if note else {})}


UNREAD: Json = {"failed_results": [{"url": "v", "error": "e"}]}


@pytest.mark.parametrize(
    ("tool", "data", "text"),
    [
        ("search", results(content="a\n b", score=0.5), "1. T  (0.50)\n   u\n   a b"),
        ("search", results("nothing fits", content="a", score=0.04), "1. T  (0.04)\n   u\n   a\n\nnothing fits"),
        ("websearch-search", {"results": [], "note": "Add pages."}, "nothing found. Add pages."),
        ("extract", results(raw_content="x") | UNREAD, "── T <u>\n\nx\n\nfailed: v: e"),
        ("map", {"results": ["u", "v"], "note": "truncated"}, "u\nv\ntruncated"),
        ("search_status", {"last_error": None}, '{\n  "last_error": null\n}'),
    ],
)
def test_a_result_is_text_for_a_terminal(tool: str, data: Json, text: str) -> None:
    assert readable(tool, data, PLAIN) == text


def test_times_counts_and_ports_are_read_and_refused() -> None:
    assert [duration_s(text) for text in ("90d", "12h", "30m", "60s")] == [7_776_000, 43_200, 1800, 60]
    assert (count("0"), port("65535")) == (0, 65_535)
    for read, text in ((duration_s, "0d"), (duration_s, "1w"), (count, "-1"), (port, "0"), (port, "٣")):
        with pytest.raises(argparse.ArgumentTypeError, match=r"^must be a"):
            read(text)


FOUND = {"success": True, "data": results(content="c", score=0.5)}


def result_of(document: Json, *, is_error: bool = False) -> Json:
    content = [{"type": "text", "text": json.dumps(document)}]
    return {"jsonrpc": "2.0", "id": 1, "result": {"content": content, "isError": is_error}}


def events(*messages: Json) -> str:
    return "".join(f": ping\n\ndata: {json.dumps(message)}\n\n" for message in messages)


async def test_progress_is_shown_until_the_result_comes() -> None:
    step = {"method": "notifications/progress", "params": {"progress": 3, "total": 10, "message": "reading"}}
    said, asked, watch = [events(step, result_of(FOUND)), events(step)], list[Json](), io.StringIO()

    async def answer(request: web.Request) -> web.Response:
        asked.append(await request.json())
        return web.Response(text=said.pop(0), content_type="text/event-stream")

    async with serving(Site({"/tools/websearch/mcp": answer})) as site:
        assert await call_tool(Gateway(site.url, "key"), "status", {}, watch) == FOUND
        assert "3 of 10 reading" in watch.getvalue() and asked[0]["params"]["name"] == "websearch-search_status"
        with pytest.raises(UpstreamError, match="ended before its result"):
            await call_tool(Gateway(site.url, "key"), "map", {}, watch)
