"""Pages are cut into passages: slices in order, with their headings, that tear nothing apart."""

from itertools import pairwise

import pytest

from gateway.engines.words.sections import MOST_CHARS, open_fences, passages, plain_text, shown_text

WORDS = "The pool hands out connections that were opened before and takes them back when a request is done. "


def texts(content: str, most_chars: int = MOST_CHARS) -> list[str]:
    return [content[each.start : each.end] for each in passages(content, most_chars)]


def test_passages_are_slices_in_order_and_leave_out_only_headings_and_blanks() -> None:
    page = "\n\n".join(f"## Section {n}\n\n{WORDS * 9}\n\n### Detail {n}\n\n{WORDS * 20}" for n in range(5))
    cut = passages(page)
    assert all(one.end <= two.start for one, two in pairwise(cut))
    between = page
    for each in reversed(cut):
        between = between[: each.start] + between[each.end :]
    assert all(not line.strip() or line.startswith("#") for line in between.split("\n"))
    assert max(each.end - each.start for each in cut) <= 3 * MOST_CHARS


def test_every_passage_carries_the_headings_above_it() -> None:
    headings = ("# Guide", "## Pools", "### Limits", "## Errors")
    page = "\n\n".join(f"{heading}\n\n{WORDS * 12}" for heading in headings)
    assert [each.headings for each in passages(page)] == [
        ("Guide",), ("Guide", "Pools"), ("Guide", "Pools", "Limits"), ("Guide", "Errors"),
    ]  # fmt: skip


def test_code_stays_whole_and_with_the_line_that_introduces_it() -> None:
    code = "```python\n" + "\n\n".join(f"value_{n} = {n}" for n in range(60)) + "\n```"
    page = f"{WORDS * 12}\n\nAn example:\n\n{code}\n\n{WORDS * 3}"
    assert any(f"An example:\n\n{code}" in text for text in texts(page))


def test_a_term_stays_with_its_description() -> None:
    page = "\n\n".join(f"pool.option_{n}(*value*)\n\n{WORDS * 4}" for n in range(20))
    for text in texts(page):
        assert text.startswith("pool.option_") and text.rstrip().endswith("done.")


def test_headings_inside_code_are_code() -> None:
    page = "# Real\n\n```sh\n# not a heading\nmake\n```\n\nAfter it."
    assert [each.headings for each in passages(page)] == [("Real",)]


@pytest.mark.parametrize("text", ["", "\n\n", "# Only a heading", "```\nnever closed", "word " * 5000, "|" * 9000])
def test_odd_pages_are_cut_without_loss_of_place(text: str) -> None:
    for each in passages(text):
        assert 0 <= each.start < each.end <= len(text)


def test_plain_text_keeps_words_and_drops_marks_and_targets() -> None:
    shown = plain_text("See **the** [pool guide](https://a.test/x(1)) and `max_size`.")
    assert "pool guide" in shown and "https" not in shown and "*" not in shown


def test_a_heading_is_shown_with_the_underscores_of_its_names() -> None:
    page = r"# ssh\_config(5)" + "\n\n## `__init__` of *pools* [here](https://a.test/x) ##\n\n" + WORDS
    assert [each.headings for each in passages(page)] == [("ssh_config(5)", "__init__ of pools here")]
    assert shown_text("a  C# \\*star") == "a C# *star"


def test_long_preformatted_text_is_cut_at_blank_lines_and_keeps_its_indentation() -> None:
    entries = [
        f"       --option-{n}=VALUE\n" + "              What it does is told in a few words.\n" * 6 for n in range(60)
    ]
    cut = texts("```\n" + "\n".join(entries) + "```")
    assert len(cut) > 5
    assert all(text.startswith("       --option-") for text in cut[1:])
    assert all(len(text) <= MOST_CHARS for text in cut[:-1])


def test_a_paragraph_of_long_preformatted_text_is_not_cut_where_it_ends_soon() -> None:
    paragraphs = ["\n".join(f"    line {n} of paragraph {p} says {'so ' * 9}" for n in range(11)) for p in range(8)]
    content = "```\n" + "\n\n".join(paragraphs) + "\n```"
    cuts = [content[each.start : each.end] for each in passages(content, 500)]
    assert all(any(paragraph in cut for cut in cuts) for paragraph in paragraphs)
    assert max(map(len, cuts)) <= 2 * 500


def test_the_line_that_opens_the_code_a_place_is_within_is_known() -> None:
    page = "Before.\n\n```sh\nfirst\n\nsecond\n```\n\nBetween.\n\n~~~~\n```\nthird\n~~~~\nAfter."
    places = [page.index(word) for word in ("Before", "```sh", "first", "second", "Between", "third", "After")]
    assert open_fences(page, places) == ["", "", "```sh", "```sh", "", "~~~~", ""]
    assert open_fences(page, []) == []


def test_a_contents_list_is_in_no_passage_unless_there_is_nothing_else() -> None:
    contents = "- 1 Pools … 3\n   - 1.1 Limits of pools … 4\n      - 1.1.1 Errors … 12\n- Index … xii"
    assert texts(f"# Guide\n\n{contents}\n\n{WORDS * 3}") == [WORDS * 3]
    assert texts(f"# Guide\n\nContents\n\n{contents}\n\n{WORDS * 3}") == [WORDS * 3]
    assert texts(f"# Guide\n\n{contents}") == [contents]
    assert "and so on … 4" in texts(f"Counted 1, 2, and so on … 4\n\n{WORDS * 3}")[0]
