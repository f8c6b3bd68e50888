"""Pages in the typical markup of shop systems, forums and sites, written for the tests: no model was trained on them.

`site_pages.json`: name, address, markup, texts that are content, and texts that stand around it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.engines.documents.page import extract
from gateway.engines.documents.parse_pool import ExtractOptions

_PAGES = json.loads(Path(__file__).with_name("site_pages.json").read_text("utf-8"))


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page["name"])
def test_the_content_of_a_page_is_read_without_what_stands_around_it(page: dict[str, Any]) -> None:
    found = extract(page["markup"].encode(), ExtractOptions(page["url"]))
    told = f"{found['title']}\n{found['content']}"
    assert [text for text in page["content"] if text not in told] == []
    assert [text for text in page["outside"] if text in told] == []
