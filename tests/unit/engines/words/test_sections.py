"""Sections of a page: what a fragment selects, and the list of what a long page holds."""

from gateway.engines.content.prune import main_content
from gateway.engines.documents.page import anchors_of, mark_anchors
from gateway.engines.html.head import read_head
from gateway.engines.html.tree import parse
from gateway.engines.words.sections import Anchor, find, outline, sections_of
from tests.support.paths import GOLDEN
from tests.support.read_pages import content_of, page_of

WORDS = "Some words that say what the option is good for and when it should be set by hand. "
PAGE = (GOLDEN / "documents" / "options_manual.html").read_text()


def anchors() -> list[Anchor]:
    root = parse(PAGE)
    mark_anchors(root)
    return anchors_of(main_content(root, read_head(root, "https://x.test/")).region)


def part(fragment: str, form: str = "markdown") -> str:
    return str(page_of(PAGE, fragment=fragment, format=form).get("part", "the whole page"))


def test_ids_lead_to_the_heading_or_term_they_stand_on_in_or_before() -> None:
    assert {anchor.text: anchor.ids for anchor in anchors()} == {
        "All options": ["top"],
        "First part": ["old-one", "one"],
        "user.name": ["user.name", "inner"],
        "user.signingKey": ["key", "key2"],
        "Second part": ["two"],
    }


def test_a_fragment_selects_its_section_with_the_way_to_it() -> None:
    for form in ("markdown", "text"):
        assert "Keys are long" in part("one", form) and "The second" not in part("one", form)
        name = part("user.name", form)
        assert name.startswith("All options > First part\n\n") and name.endswith("Second of name.")
        assert "Keys are long" in part("key2", form) and "Second of name" not in part("key2", form)
        assert part("two", form).endswith("The second.") and "Keys" not in part("two", form)


def test_a_fragment_may_be_the_name_of_a_section_or_a_range_of_characters() -> None:
    assert part("user.signingKey") == part("key") and part("First%20part") == part("first-part") == part("ONE")
    assert content_of(PAGE)[5:50].strip() in part("char=5,50")


def test_a_fragment_that_names_nothing_gives_the_whole_page_and_says_so() -> None:
    page = page_of(PAGE, fragment="/route")
    assert page["lacks_section"] is True and "part" not in page


def test_a_query_looks_in_the_section_alone() -> None:
    page = page_of(PAGE, fragment="two", query="keys are long")
    assert "The second." in page["part"] and "Keys" not in page["part"]


def test_markdown_without_a_tree_has_sections_by_its_headings_outside_code() -> None:
    text = "# A\n\none\n\n```\n# no heading\n```\n\n## B\n\ntwo\n\n# C\n\nthree"
    sections = sections_of(text, [])
    assert [section.path for section in sections] == [("A",), ("A", "B"), ("C",)]
    place = find(text, sections, "b")
    assert place is not None and text[place[0] : place[1]] == "## B\n\ntwo\n\n"


def listed(text: str, most_chars: int, most_entries: int = 20) -> list[str]:
    """What each entry of the outline selects."""
    sections = sections_of(text, [])
    entries = outline(text, sections, (0, len(text)), most_chars, most_entries)
    places = [find(text, sections, entry["fragment"]) for entry in entries]
    parts = [text[place[0] : place[1]] for place in places if place is not None]
    assert [len(part) for part in parts] == [entry["chars"] for entry in entries]
    return parts


def test_the_parts_that_are_listed_are_together_the_page_and_each_fits() -> None:
    parts = "".join(f"## Part {m}\n\n{WORDS * 6}\n\n" for m in range(12))
    chapters = [f"# Chapter {n}\n\n{WORDS}\n\n{parts}" for n in range(6)]
    for text in ("".join(chapters), "".join(chapters[:1]), WORDS.replace(". ", ".\n") * 400, "x" * 30_000):
        found = listed(text, 4_000)
        assert "".join(found) == text and all(len(part) <= 4_000 for part in found)


def test_sections_too_many_to_list_are_listed_together() -> None:
    text = "# Options\n\n" + "".join(f"## option{n}\n\n{WORDS}\n\n" for n in range(900))
    entries = outline(text, sections_of(text, []), (0, len(text)), 80_000, 40)
    assert 20 <= len(entries) <= 42 and "option0 … option" in entries[0]["heading"]
    assert sum(entry["chars"] for entry in entries) >= len(text) - 40


def test_a_page_longer_than_its_share_lists_its_sections() -> None:
    page = page_of(PAGE, most_chars=300, most_sections=20)
    assert {"one", "user.name", "key", "two"} & {entry["fragment"] for entry in page["sections"]}
    assert "sections" not in page_of(PAGE, most_chars=30_000)
