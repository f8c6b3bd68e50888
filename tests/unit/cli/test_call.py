"""`gateway call` and its kin: arguments from the shell, results as text, refusals that say what to do."""

import argparse

import pytest

from gateway.cli.argument_types import count, duration_s, port
from gateway.cli.call import CallFailed, arguments_from, readable
from gateway.domain import Json


def test_a_value_is_json_where_it_can_be_and_text_elsewhere() -> None:
    pairs = ["query=a b", "max_results=3", 'urls=["x"]', "exact_match=true", "empty=", "equation=a=b"]
    assert arguments_from(pairs) == {
        "query": "a b", "max_results": 3, "urls": ["x"], "exact_match": True, "empty": "", "equation": "a=b",
    }  # fmt: skip


@pytest.mark.parametrize("pair", ["query", "=value", ""])
def test_what_is_no_pair_is_refused_with_the_form_that_is_wanted(pair: str) -> None:
    with pytest.raises(CallFailed, match=f"^'{pair}' is not an argument; write key=value$"):
        arguments_from([pair])


@pytest.mark.parametrize(
    ("tool", "data", "text"),
    [
        (
            "search",
            {"results": [{"title": "T", "url": "u", "content": "a\n b", "score": 0.5}]},
            "1. T  (0.50)\n   u\n   a b",
        ),
        ("websearch-search", {"results": [], "note": "Add pages."}, "nothing found. Add pages."),
        (
            "extract",
            {
                "results": [{"title": "T", "url": "u", "raw_content": "x"}],
                "failed_results": [{"url": "v", "error": "e"}],
            },
            "── T <u>\n\nx\n\nfailed: v: e",
        ),
        ("map", {"results": ["u", "v"], "note": "truncated"}, "u\nv\ntruncated"),
        ("search_status", {"last_error": None}, '{\n  "last_error": null\n}'),
    ],
)
def test_a_result_is_text_for_a_terminal(tool: str, data: Json, text: str) -> None:
    assert readable(tool, data) == text


def test_times_counts_and_ports_are_read_and_refused() -> None:
    assert [duration_s(text) for text in ("90d", "12h", "30m", "60s")] == [7_776_000, 43_200, 1800, 60]
    assert (count("0"), port("65535")) == (0, 65_535)
    for read, text in ((duration_s, "0d"), (duration_s, "1w"), (count, "-1"), (port, "0"), (port, "٣")):
        with pytest.raises(argparse.ArgumentTypeError, match=r"^must be a"):
            read(text)
