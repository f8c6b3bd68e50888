"""The links that a crawl follows from a page."""

from gateway.engines.html.head import links_of, read_head
from gateway.engines.html.tree import parse


def test_the_texts_of_several_links_to_one_page_are_joined_up_to_a_bound() -> None:
    sections = "".join(f"<li><a href='/a#s{at}'>Section {at}</a></li>" for at in range(2000))
    body = f"<a href='/a'>A</a><a href='/b'><img></a><a href='/b'>B</a><a href='/b#x'>B</a><ul>{sections}</ul>"
    root = parse(f"<title>t</title><body>{body}</body>")
    head = read_head(root, "https://x.test/")
    (first, text, _), second = links_of(root, None, head)
    assert first == "https://x.test/a" and text.startswith("A; Section 0; Section 1; ") and len(text) < 1_300
    assert second == ["https://x.test/b", "B", False]
