"""Short strings that are scanned together, alone, in JSON documents and as pieces of one text, are masked as each would
be by itself."""

from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.config.settings import Sanitize
from gateway.sanitize.policy import actions
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.slot_mask import SlotMasker
from gateway.sanitize.work_budget import SharedAllowance
from gateway.texts import GroupSlot, TextSlot

VALUES = [
    "4539 1488 0343 6467", "GB12 WEST 1234 5698 7654 31", "ghp_x8Kq2mZ7vR4tB9nW1cY6pL3sD5fG0hJaQeUi",
    "bob@posthaus.org",
    "+41 44 668 18 00", "8.8.4.4", "AKIAQ3EGRZ7VBN5TWXYZ", "123-45-6789", "https://bob:hunter2x9@posthaus.org/a",
    "name [at] example [dot] org",
]  # fmt: skip
NEIGHBOURS = [
    "order number", "version", "plain words", "17", "2019-04-03", "v1.2.3.4", "call", "ISBN", "a-b", "x", "id", "0x1f",
    "tel", "card:", "password", "1111", "3.14", "the quick brown fox", "§ 13.2", "http://example.org", "-", "12:30",
]  # fmt: skip
NAMES = ["a", "note", "token", "phone", "password"]
TABLE = actions(Sanitize(), "requests")


def masked(texts: list[Any], slots: list[Any], *, allowance: int = 10**9, seams: bool = False) -> tuple[Any, list[str]]:
    """The texts of a texts after their slots were masked, and what was reported, with its place."""
    found = list[str]()
    shared = SharedAllowance(allowance)
    masker = SlotMasker(Scanner(), TABLE, lambda entity, action, where: found.append(f"{where} {entity}"), shared)
    for _ in masker.seam_steps(slots) if seams else ():
        pass
    for slot in slots:
        masker.clean(slot)
    return texts, sorted(found)


def grouped(texts: list[tuple[str, str]], *, together: bool) -> tuple[Any, list[str]]:
    holder: list[Any] = [text for _, text in texts]
    slots = [TextSlot(holder, index, f"[{index}]", name=name) for index, (name, _) in enumerate(texts)]
    return masked(holder, [GroupSlot.of(slots)] if together else slots)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES + NEIGHBOURS * 2)), min_size=1, max_size=12))
def test_a_group_is_masked_like_its_members(texts: list[tuple[str, str]]) -> None:
    assert grouped(texts, together=True) == grouped(texts, together=False)


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_no_neighbour_hides_a_value(neighbour: str) -> None:
    for value in VALUES:
        texts = [("a", neighbour), ("a", value), ("a", neighbour)]
        assert grouped(texts, together=True) == grouped(texts, together=False)


@pytest.mark.parametrize("units", [10**9, 0], ids=["alone", "beside other lines once the allowance is spent"])
def test_all_of_many_short_strings_are_masked_and_counted(units: int) -> None:
    holder = [f"ghp_{n:036d}x{n}".replace("0000000000", "a8Zk2Qp9Lx") for n in range(50)] + ["an ordinary text"]
    slots, notes = [TextSlot(holder, index, f"[{index}]") for index in range(len(holder))], list[str]()
    masker = SlotMasker(Scanner(), TABLE, lambda entity, *_: notes.append(entity), SharedAllowance(units))
    assert len(list(masker.steps(GroupSlot.of(slots)))) > 50 and notes == ["SECRET"] * 50
    assert holder == ["[REDACTED:SECRET]"] * 50 + ["an ordinary text"]


def test_a_long_text_with_an_emoji_is_masked_as_a_short_one_is() -> None:
    holder = {"content": "😀 mail me@firma-beispiel.de " + "words " * 20_000 + "password: hunter2hunter2"}
    masker = SlotMasker(Scanner(), TABLE, lambda *_: None)
    assert masker.clean(TextSlot(holder, "content", "content"))
    assert "hunter2" not in holder["content"] and holder["content"].startswith("😀 mail ")
    assert not masker.clean(TextSlot({"content": "я" * 100_000}, "content", "content"))


# --- documents --------------------------------------------------------------------------------------------------------

LEAVES: list[Any] = [*VALUES, *NEIGHBOURS, *NEIGHBOURS, 4539148803436467, 17, None, True]


def document(value: Any, allowance: int = 10**9) -> tuple[Any, list[str]]:
    """A JSON document after masking, and what was reported."""
    holder = [orjson.dumps(value).decode()]
    [text], found = masked(holder, [TextSlot(holder, 0, "arguments", "json")], allowance=allowance)
    return orjson.loads(text), found


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(LEAVES)), min_size=3, max_size=12))
def test_members_of_a_document_are_masked_like_documents_of_one(members: list[tuple[str, Any]]) -> None:
    each = [document([{name: value}]) for name, value in members]
    whole, found = document([{name: value} for name, value in members])
    assert whole == [shown[0] for shown, _ in each]
    assert found == sorted(report for _, reports in each for report in reports)


def test_masked_names_keep_their_place() -> None:
    shown, _ = document({"first": 1, VALUES[2]: 2, "last": {VALUES[2]: [VALUES[0]]}, "x": "y"})
    name = "[REDACTED:SECRET]"
    assert (list(shown), list(shown["last"])) == (["first", name, "last", "x"], [name])


def test_no_value_passes_and_names_stay_when_the_allowance_is_spent() -> None:
    members = {f"k{number}": f"password: ghp_{number:036d}" for number in range(2_000)}
    shown, _ = document(members, allowance=0)
    assert "ghp_" not in str(shown) and list(shown) == list(members)


def test_plain_strings_of_a_document_cost_a_few_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    scanner, scans = Scanner(), list[int]()
    scan = scanner.scan

    def counted(text: str, allowance: SharedAllowance | None = None) -> Any:
        scans.append(len(text))
        return scan(text, allowance)

    monkeypatch.setattr(scanner, "scan", counted)
    text = orjson.dumps([f"words of plain {number} text and more" for number in range(1_000)]).decode()
    holder = [text]
    SlotMasker(scanner, TABLE, lambda *_: None).clean(TextSlot(holder, 0, "", "json"))
    assert holder == [text] and len(scans) <= 12


# --- pieces of one text -----------------------------------------------------------------------------------------------

CARD, KEY = VALUES[0], VALUES[2]


def split(texts: list[str], flows: list[object] | None = None) -> tuple[list[str], list[str]]:
    """The texts after masking, and the entities that were reported."""
    holder, places = list(texts), flows or [0] * len(texts)
    slots = [TextSlot(holder, index, f"[{index}]", flow=places[index]) for index in range(len(holder))]
    shown, found = masked(holder, slots, seams=True)
    return shown, [each.split()[1] for each in found]


@pytest.mark.parametrize("value", [CARD, KEY])
def test_a_value_cut_anywhere_is_masked_once(value: str) -> None:
    for cut in range(1, len(value)):
        texts, found = split([f"It is {value[:cut]}", f"{value[cut:]} as told"])
        [entity] = found
        assert "".join(texts) == f"It is [REDACTED:{entity}] as told", cut


@pytest.mark.slow
@given(st.lists(st.integers(1, len(KEY) - 1), max_size=8), st.integers(0, 600))
def test_a_key_in_any_number_of_pieces_is_masked(cuts: list[int], filler: int) -> None:
    pieces = [KEY[start:end] for start, end in pairwise(sorted({0, *cuts, len(KEY)}))]
    pieces[0], pieces[-1] = "word " * filler + pieces[0], pieces[-1] + " word" * filler
    texts, found = split(pieces)
    assert KEY not in "".join(texts) and "[REDACTED:SECRET]" in "".join(texts) and found == ["SECRET"]


def test_texts_of_other_flows_are_not_joined() -> None:
    texts, found = split([CARD[:9], "between", CARD[9:]], [1, 2, 1])
    assert found == ["CREDIT_CARD"] and texts == ["[REDACTED:CREDIT_CARD]", "between", ""]
    assert split([CARD[:9], CARD[9:]], [1, 2])[1] == []


def test_whole_values_beside_a_seam_are_found_once_each() -> None:
    texts, found = split([f"Thanks {CARD}", f"{KEY} and so on"])
    assert texts == ["Thanks [REDACTED:CREDIT_CARD]", "[REDACTED:SECRET] and so on"]
    assert sorted(found) == ["CREDIT_CARD", "SECRET"]


def test_a_value_deep_in_thousands_of_parts_is_masked() -> None:
    parts = ["some words of a part, not few of them " * 4 for _ in range(600)]
    parts[300:302] = ["it is " + CARD[:9], CARD[9:] + " there"]
    texts, found = split(parts)
    assert found == ["CREDIT_CARD"] and texts[300:302] == ["it is [REDACTED:CREDIT_CARD]", " there"]
    assert texts[:300] == parts[:300] and texts[302:] == parts[302:]
