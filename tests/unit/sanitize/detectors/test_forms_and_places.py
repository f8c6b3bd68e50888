"""Keys of unknown makers, addresses of four numbers and telephone numbers: by their form and where they stand."""

import pytest

from tests.support.scanned import found

KEYS = [
    "qwx_7G5K2M9QXW4T8ZB3NVHD6JRP", "QWX-7G5K2M9QXW4T8ZB3NVHD6JRP", "qwx_Wq7xK2mZ9tRb4Lp8Yd3Nc-Vh6_Js1",
    "qwx_Wq7xK2mZ9tRb4Lp8Yd3Nc.Vh6Js1Gf5Ka", "qwx_9cf73fe7f5f927ffc106dfab5d075c40",
    "qwx_Wq7-xK2mZ9_tRb4Lp8Yd3NcVh6Js1", "qwx-wq7xk2mz9trb4lp8yd3ncvh6",
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_a_prefix_and_a_random_tail_are_a_key(key: str) -> None:
    assert found(f"my key {key} is below") == [key] and found(f'{{"value": "{key}"}}') == [key]


ADDRESSES = [
    "GET from {}:443", "ssh root@{}", "host: {}", "{} - - [21/Nov/2026]", "ping {}", '"ip": "{}"', "{}",
]  # fmt: skip


@pytest.mark.parametrize("text", ADDRESSES)
def test_four_numbers_in_the_place_of_an_address_are_one(text: str) -> None:
    assert found(text.format("91.198.174.192")) == ["91.198.174.192"]


VERSIONS = [
    "Moss.Core {} replaces 1.12.1.0", "moss=={}", "moss>={}", "moss ^{}", "## [{}] - 2026-09-02", "moss-{}.jar",
    "| moss | {} | moss-{}.jar |", "upgraded to {}", '<Package Version="{}"/>',
]  # fmt: skip


@pytest.mark.parametrize("text", VERSIONS)
def test_four_numbers_in_the_place_of_a_version_are_none(text: str) -> None:
    assert found(text.format("91.84.2.7", "91.84.2.7").replace("Core 91.84.2.7", "Core 91.84.2.0")) == []


@pytest.mark.parametrize(
    "number", ["030 / 90 18 20-5", "(030) / 901820", "0160/5550123", "030/ 901820", "030 / 901820"]
)
@pytest.mark.parametrize("word", ["Tel.: {}", "Telefon {}", "Ruf an: {}", "Durchwahl {}"])
def test_a_telephone_number_with_a_slash_is_found_whole_behind_its_word(number: str, word: str) -> None:
    assert found(word.format(number)) == [number] and found(f"sum {number} of all") == []


ACCOUNTS = [
    "Kundennummer: {4711 0815-3}", "account no {00123456789}", "sort code {12-34-56}", "policy number {ABC-1234567}",
    "Vertragsnummer {V 8812 4431/07} vom Mai", "numéro de contrat : {77 123 456}", "codice cliente {00417762}",
    "Número de póliza: {88-12345678}", "номер договора {8812-44310}", "Tel. {+49 30 901820 App. 12} oder",
    "your account number has 10 digits of 12345678", "contract number 2024-11-29", "claim number 1.2.3 of 2024",
]  # fmt: skip


@pytest.mark.parametrize("text", ACCOUNTS)
def test_a_number_of_an_account_customer_or_contract_needs_its_word(text: str) -> None:
    assert found(text.replace("{", "").replace("}", "")) == [part.split("}")[0] for part in text.split("{")[1:]]
