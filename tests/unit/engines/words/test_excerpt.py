"""What of a page answers a query: whole passages, those that answer best first, with the way to them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.growth import grows
from gateway.engines.words.excerpt import GAP, best_within, excerpt
from gateway.resilience.slices import all_steps
from tests.support.markdown_fences import TEXTS, open_fences

FILLER = "Nothing of interest is told in this paragraph, which only takes up room on the page of many words. " * 4


def section(name: str, *blocks: str) -> str:
    return "\n\n".join((f"## {name}", *blocks))


def manual(*sections: str, filler: int = 30) -> str:
    others = [section(f"Chapter {number}", f"{number}. {FILLER}") for number in range(filler)]
    half = filler // 2
    return "\n\n".join(("# Manual of everything", "It has many chapters.", *others[:half], *sections, *others[half:]))


def test_a_short_page_is_given_whole() -> None:
    assert excerpt("# Apples\n\nThey grow.", "pears") == "# Apples\n\nThey grow."


def test_about_a_quarter_of_a_long_page_is_given_and_never_more_than_asked() -> None:
    page = manual(filler=120)
    assert 0.2 * len(page) < len(excerpt(page, "chapter 7 interest")) <= 0.25 * len(page)
    assert len(excerpt(page, "chapter 7 interest", 2_000)) <= 2_000
    assert len(excerpt(page, "chapter 7 interest", 20_000)) <= 0.25 * 20_000 < 0.2 * len(page)


def test_of_a_page_of_a_few_sections_half_is_given_and_a_shorter_one_stays_whole() -> None:
    page = manual(filler=6)[:5_000]
    assert 1_500 < len(excerpt(page, "chapter 7 interest")) <= 3_000
    assert excerpt(page[:1_600], "chapter 7 interest") == page[:1_600]


def test_a_piece_begins_with_the_headings_above_it_and_its_term() -> None:
    options = section(
        "Options",
        "### Signing",
        "**user.signingKey**",
        FILLER,
        f"The zebra is chosen by hand. {FILLER}",
        "**user.name**",
    )
    text = excerpt(manual(options), "zebra chosen by hand", 2_500)
    assert "Manual of everything > Options > Signing > user.signingKey\n\nThe zebra is chosen by hand." in text
    assert text.split(GAP)[-1].startswith("Manual of everything\n\nIt has many chapters."), "what the page is, last"


def test_a_term_and_its_description_stay_together_also_with_several_names() -> None:
    for term in ("**--zebra**", "`-z ZEBRA`  \n`--zebra=ZEBRA`", "@animals.zebra(*stripes=3*)"):
        text = excerpt(manual(section("Options", FILLER, term, f"Says how the animal is drawn. {FILLER}")), "zebra")
        assert f"{term}\n\nSays how the animal is drawn." in text


def test_code_stays_whole_and_what_is_too_long_is_fenced_in_every_piece() -> None:
    code = "```python\n" + "\n".join(f"zebra_{number} = {number}" for number in range(80)) + "\n```"
    assert code in excerpt(manual(section("Code", "How zebras are made:", code)), "zebra code")
    endless = "```python\n" + "\n".join(f"zebra_{number} = {number}" for number in range(3_000)) + "\n```"
    text = excerpt(endless, "zebra_1500")
    assert "zebra_1500 = 1500" in text and open_fences(text) == 0
    assert all(part.startswith("```python\n") and part.endswith("\n```") for part in text.split(GAP))


def test_pieces_that_answer_best_stand_first_each_below_its_headings() -> None:
    first, second = section("One", f"A zebra comes first. {FILLER}"), section("Two", f"zebra zebra zebra. {FILLER}")
    parts = excerpt(manual(first, section("Between", FILLER * 6), second), "zebra").split(GAP)
    assert parts[0].startswith("Manual of everything > Two\n\nzebra zebra zebra.")
    assert parts[1].startswith("Manual of everything > One\n\nA zebra comes first.")


def test_pieces_that_stand_beside_each_other_stay_together_in_their_order() -> None:
    told = section("Zebras", f"They are tall. {FILLER}", f"A zebra has stripes. {FILLER}", f"zebra zebra. {FILLER}")
    first = excerpt(manual(told), "zebra stripes", 3_000).split(GAP)[0]
    assert first.index("has stripes") < first.index("zebra zebra")
    assert first.count("Manual of everything > Zebras") == 1


@pytest.mark.parametrize("query", ["", "???", "the of and", "斑马", "x" * 2_000])
def test_any_query_gives_something(query: str) -> None:
    assert len(excerpt(manual(), query)) > 500


@pytest.mark.slow
@settings(max_examples=60)
@given(TEXTS, st.integers(50, 400))
def test_a_limit_is_kept_and_no_fence_stays_open(text: str, limit: int) -> None:
    page = text.replace("\r\n", "\n") * 3
    found = excerpt(page, "a b c", limit)
    assert found == page or len(found) <= limit + 80


def test_of_the_best_passages_those_that_answer_fill_the_room_and_the_first_has_no_right_to_it() -> None:
    zebras = [section(f"Zebra {number}", f"Zebra {number} is chosen by hand. {FILLER}") for number in range(6)]
    text = all_steps(best_within(manual(*zebras), "zebra chosen", 2_000))
    assert text.count("is chosen by hand.") >= 3 and "It has many chapters." not in text
    assert 1_500 < len(text) <= 2_000


_HEADINGS = "".join(f"{'#' * level} {'h' * 290}\n\n" for level in range(1, 6))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "# a\n" * 5_000,
        "\n" * 20_000,
        "```\na\n" * 3_300,
        "`a`\n\n" * 4_000,
        "\ufdfa" * 20_000,
        "[" * 20_000,
        _HEADINGS + "".join(f"###### {number}\n\np\n\n" for number in range(1_500)),
    ],
)
def test_an_excerpt_of_a_hostile_page_is_made_in_many_steps_and_in_more_of_a_longer_one(text: str) -> None:
    def steps(page: str) -> int:
        running, count = best_within(page, "words that p a page may have", 4_500), 0
        while True:
            try:
                next(running)
            except StopIteration as end:
                assert len(end.value) <= 4_500
                return count
            count += 1

    assert 60 <= 1.2 * steps(text) <= steps(text * 2)


@pytest.mark.slow
def test_the_time_of_an_excerpt_of_many_sections_under_long_headings_grows_with_the_page() -> None:
    def page(sections: int) -> str:
        return _HEADINGS + "".join(f"###### {number}\n\np\n\n" for number in range(sections))

    assert grows(lambda text: excerpt(text, "p words"), page, (500, 1_000, 2_000)) is None


@pytest.mark.parametrize("mark", ["", "> ", ">   "])
def test_a_paragraph_that_is_cut_between_sentences_goes_on_as_in_the_page(mark: str) -> None:
    told = " ".join(f"The active mode of socket {number} sends each packet once to its owner." for number in range(14))
    paragraph = f"{mark}{told}\n{mark.strip()}\n{mark}{told}"
    others = "\n\n".join(f"Rain falls on the hills of valley {number}, and the river takes it." for number in range(90))
    content = f"# Ports\n\n{others}\n\n## Modes\n\n{paragraph}\n\n## Weather\n\n{others}"
    assert paragraph in excerpt(content, "active mode of a socket")
