"""What is left of an answer that must not be shown."""

import pytest

from gateway.texts import TextSlot, TextUnit
from gateway.wire.dialect import withhold

PLACES = [
    ("output[0].text", ["before", "up to", "", ""]), ("output[1].arguments.card", ["before", "up to", "", ""]),
    ("output[2].text", ["before", "up to", "{}", "behind"]), ("output[9].text", ["", "", "", ""]),
    (None, ["", "", "", ""]),
]  # fmt: skip


@pytest.mark.parametrize(("where", "left"), PLACES)
def test_texts_up_to_the_finding_stay_and_a_document_goes_whole(where: str | None, left: list[str]) -> None:
    texts = ["before", "up to", "{}", "behind"]
    places = ["instructions", "output[0].text", "output[1].arguments", "output[2].text"]
    forms = ["text", "text", "json", "text"]
    slots = [TextSlot(texts, index, places[index], forms[index]) for index in range(4)]  # type: ignore[arg-type]
    withhold(TextUnit(slots), where)
    assert texts == left
