"""Texts for browsers without scripts: whether a page needs a browser beside them; what is read is in `oddities.txt`."""

import pytest

from tests.support.read_pages import page_of


@pytest.mark.parametrize(("count", "needs"), [(1, True), (9, False)], ids=["a short text", "a long text"])
def test_a_page_whose_text_for_browsers_without_scripts_is_long_needs_none(count: int, needs: bool) -> None:
    text = "".join(
        f"<p>The ferry number {at} sails from the pier to the island and back again.</p>" for at in range(count)
    )
    page = page_of(f"<title>Ferry</title><div id=root></div><script src=/a.js></script><noscript>{text}</noscript>")
    assert f"number {count - 1}" in page["content"] and page["needs_browser"] is needs
