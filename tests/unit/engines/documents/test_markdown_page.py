"""Markdown that a site gives is read as a page is: title, links, pictures; hidden text and addresses are looked at."""

from typing import Any

import pytest

from tests.support.read_pages import page_of


def read(text: str, **options: Any) -> Any:
    return page_of(text, "https://bees.test/guide/hives", "text/markdown; charset=utf-8", **options)


def test_front_matter_gives_title_and_description_and_is_no_text() -> None:
    page = read('---\ntitle: "The hive"\ndescription: How it is built\ntags: [a]\n---\n\nIt has **frames**.')
    told = (page["title"], page["description"], page["content"])
    assert told == ("The hive", "How it is built", "It has **frames**.")


def test_links_and_pictures_of_the_site_get_their_whole_addresses() -> None:
    page = read("# H\n\nSee [wax](../wax) and ![a frame](/frame.png).", links=True, images=True)
    assert "(https://bees.test/wax)" in page["content"] and "(https://bees.test/frame.png)" in page["content"]
    assert page["links"] == [["https://bees.test/wax", "wax", True]]
    assert page["images"] == [{"url": "https://bees.test/frame.png", "description": "a frame"}]
    assert not page["is_partial"]


@pytest.mark.parametrize(
    ("text", "options", "is_partial"),
    [
        ("# H\n\nText.", {}, False),
        ("Text.", {}, True),
        ("# H\n\nText.", {"links": True}, True),
        ("# H\n\nText.", {"images": True}, True),
        ("# H\n\n[a](b)", {"links": True}, False),
    ],
)
def test_it_is_partial_where_it_lacks_what_is_asked_for(text: str, options: dict[str, bool], is_partial: bool) -> None:
    assert read(text, **options)["is_partial"] is is_partial


def test_of_a_very_long_text_nothing_is_lost() -> None:
    text = "# Long\n\n" + "A line of [text](x).\n\n" * 20_000
    assert read(text)["content"] == text.strip()
