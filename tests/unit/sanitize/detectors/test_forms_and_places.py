"""Keys of unknown makers, addresses of four numbers and telephone numbers: by their form and where they stand."""

import pytest

from tests.support.scanned import PLACES, found, mask


@pytest.mark.parametrize("key", PLACES["keys of unknown makers"])
def test_a_prefix_and_a_random_tail_are_a_key(key: str) -> None:
    assert found(f"my key {key} is below") == [key] and found(f'{{"value": "{key}"}}') == [key]


@pytest.mark.parametrize("text", PLACES["places of an address of four numbers"])
def test_four_numbers_in_the_place_of_an_address_are_one(text: str) -> None:
    assert found(text.format("91.198.174.192")) == ["91.198.174.192"]


@pytest.mark.parametrize("text", PLACES["places of a version of four numbers"])
def test_four_numbers_in_the_place_of_a_version_are_none(text: str) -> None:
    assert found(text.format("91.84.2.7", "91.84.2.7").replace("Core 91.84.2.7", "Core 91.84.2.0")) == []


@pytest.mark.parametrize(
    "number", ["030 / 90 18 20-5", "(030) / 901820", "0160/5550123", "030/ 901820", "030 / 901820"]
)
@pytest.mark.parametrize("word", ["Tel.: {}", "Telefon {}", "Ruf an: {}", "Durchwahl {}"])
def test_a_telephone_number_with_a_slash_is_found_whole_behind_its_word(number: str, word: str) -> None:
    assert found(word.format(number)) == [number] and found(f"sum {number} of all") == []


@pytest.mark.parametrize("text", PLACES["numbers behind the words that make them some, in braces"])
def test_a_number_of_an_account_customer_or_contract_needs_its_word(text: str) -> None:
    assert found(text.replace("{", "").replace("}", "")) == [part.split("}")[0] for part in text.split("{")[1:]]


@pytest.mark.parametrize(("word", "reach", "number"), [("phone", 48, "6512345678"), ("ssn", 64, "536229873")])
@pytest.mark.parametrize("others", [0, 3, 60], ids=["alone", "few", "many"])
def test_a_word_counts_as_far_as_it_reaches_among_many_numbers(word: str, reach: int, number: str, others: int) -> None:
    filler = "plain words go on and on. " * 60
    before = filler + "".join(f"{place} to 2024-2025, {filler[:40]}" for place in range(others)) + filler
    near, far = (f"{word}{'.' * (gap - len(word))} {number} " for gap in (reach - 2, reach + 40))
    assert number not in mask(f"{before}{near}{filler}") and number in mask(f"{before}{far}{filler}")
