"""Citations after masking: each stays with its link, and goes with one that a mask has changed."""

import pytest

from gateway.domain import Json
from gateway.wire.url_citations import KeptLinks, annotated

TEXT = "Mail a@b.example [1], see [2] and [2]."


def note(start: int, end: int, *, nested: bool = False) -> Json:
    place = {"start_index": start, "end_index": end}
    return {"type": "url_citation", "url_citation": place} if nested else {"type": "url_citation", **place}


def part(nested: bool = False) -> Json:
    first, second, last = TEXT.index("[1]"), TEXT.index("[2]"), TEXT.rindex("[2]")
    notes = [note(place, place + 3, nested=nested) for place in (first, second, second, last)]
    return {"content" if nested else "text": TEXT, "annotations": [*notes, {"type": "file_citation"}]}


def places(notes: list[Json], text: str) -> list[str]:
    found = [each.get("url_citation", each) for each in notes]
    return [text[each["start_index"] : each["end_index"]] for each in found if "start_index" in each]


def test_links_are_found_again_behind_a_mask_in_both_forms() -> None:
    for nested, name in ((False, "text"), (True, "content")):
        holder = part(nested)
        links = KeptLinks([holder, None, {"text": "alone"}])
        holder[name] = TEXT.replace("a@b.example", "[REDACTED:EMAIL]")
        links.place()
        assert places(holder["annotations"], holder[name]) == ["[1]", "[2]", "[2]", "[2]"]
        assert {"type": "file_citation"} in holder["annotations"]


@pytest.mark.parametrize("masked", ["", "a@b.example"], ids=["nothing masked", "masked before"])
@pytest.mark.parametrize("before", ["`a[1]` and a@b.example in ", "a@b.example ![1](x), a[1] or "])
def test_the_same_characters_before_a_link_are_not_taken_for_it(before: str, masked: str) -> None:
    text = f"{before}Paris [1]. Then b[1]."
    place = len(before) + len("Paris ")
    holder: Json = {"text": text, "annotations": [note(place, place + 3)]}
    links = KeptLinks([holder])
    holder["text"] = text.replace(masked, "[REDACTED:EMAIL]") if masked else text
    links.place()
    [cited] = holder["annotations"]
    assert holder["text"][: cited["start_index"]].endswith("Paris ") and places([cited], holder["text"]) == ["[1]"]


def test_a_link_that_a_mask_has_changed_loses_its_citation_and_a_withheld_text_all() -> None:
    holder = part()
    links = KeptLinks([holder])
    holder["text"] = TEXT.replace("[1]", "[x]")
    links.place()
    assert places(holder["annotations"], holder["text"]) == ["[2]", "[2]", "[2]"]
    withheld = part()
    links = KeptLinks([withheld])
    withheld["text"] = None
    links.place()
    assert len(withheld["annotations"]) == 5


def test_a_link_that_got_its_value_back_keeps_its_citation() -> None:
    text = "By [EMAIL_1]: see [EMAIL_1] here."
    place = text.rindex("[EMAIL_1]")
    holder: Json = {"text": text, "annotations": [note(place, place + 9), note(3, 12)]}  # in no order

    def filled(words: str) -> str:
        return words.replace("[EMAIL_1]", "jane@posthaus.org")

    links = KeptLinks([holder])
    holder["text"] = filled(text)
    links.place(filled)
    assert [each["start_index"] for each in holder["annotations"]] == [3, 26]
    assert places(holder["annotations"], holder["text"]) == ["jane@posthaus.org"] * 2


ANSWERS = [
    {"choices": [{"message": {"content": "a"}}, None]}, {"output": [{"content": [{"text": "a"}]}, {}, None]},
    {"data": [{"content": [{"text": "a"}]}]}, {"content": [{"text": "a"}]},
]  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS, ids=["chat", "a response", "a page of items", "an item"])
def test_what_may_be_annotated_is_found_in_each_form_of_an_answer(answer: Json) -> None:
    assert [each for each in annotated(answer) if each] in ([{"text": "a"}], [{"content": "a"}])


@pytest.mark.parametrize("answer", [None, [], {"output": "text"}, {"choices": None, "content": "text"}])
def test_anything_else_has_none(answer: object) -> None:
    assert list(annotated(answer)) == []
