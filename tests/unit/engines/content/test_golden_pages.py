"""Thirty small pages, each of a kind, and the Markdown that they are read as: `tests/golden/pages/NAME.html` and `.md`.

A change of the answers shows as a difference of the `.md` beside the page.
"""

import pytest

from gateway.engines.documents.page import extract
from gateway.engines.documents.parse_pool import ExtractOptions
from tests.support.paths import ROOT

_PAGES = ROOT / "tests" / "golden" / "pages"


@pytest.mark.parametrize("name", sorted(page.stem for page in _PAGES.glob("*.html")))
def test_a_page_is_read_as_its_markdown(name: str) -> None:
    page = (_PAGES / f"{name}.html").read_bytes()
    found = extract(page, ExtractOptions(f"http://museum.test/pages/{name}", "text/html"))
    assert f"{found['content']}\n" == (_PAGES / f"{name}.md").read_text("utf-8")
