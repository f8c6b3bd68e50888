"""Keys of unknown makers, addresses of four numbers and telephone numbers: by their form and where they stand."""

import pytest

from gateway.sanitize.scanner import Scanner

SCANNER = Scanner()


def found(text: str) -> list[str]:
    return [text[each.start : each.end] for each in SCANNER.scan(text)]


@pytest.mark.parametrize(
    "key",
    [
        "qwx_7G5K2M9QXW4T8ZB3NVHD6JRP",
        "QWX-7G5K2M9QXW4T8ZB3NVHD6JRP",
        "qwx_Wq7xK2mZ9tRb4Lp8Yd3Nc-Vh6_Js1",
        "qwx_Wq7xK2mZ9tRb4Lp8Yd3Nc.Vh6Js1Gf5Ka",
        "qwx_9cf73fe7f5f927ffc106dfab5d075c40",
        "qwx_Wq7-xK2mZ9_tRb4Lp8Yd3NcVh6Js1",
        "qwx-wq7xk2mz9trb4lp8yd3ncvh6",
    ],
)
def test_a_prefix_and_a_random_tail_are_a_key(key: str) -> None:
    assert found(f"my key {key} is below") == [key]
    assert found(f'{{"value": "{key}"}}') == [key]


def test_a_key_behind_a_colon_is_found_without_the_name_before_it() -> None:
    assert found("acme:Wq7xK2mZ9tRb4Lp8Yd3Nc5Vh") == ["Wq7xK2mZ9tRb4Lp8Yd3Nc5Vh"]


@pytest.mark.parametrize(
    "text",
    [
        'projectId: "prj_Wq7xK2mZ9tRb4Lp8Yd3Nc5Vh"',
        "the deployment dpl_7Wq7xK2mZ9tRb4Lp8Yd3Nc5Vh of workspace: wsp_2mZ9tRb4Lp8Yd3Nc5VhWq7xK",
        "Call 888-888-8888 for a demo",
        '{"resource_id": "dt_2x9GhoK0TZRsohWzv1b9It8J1AB"}',
        "evnt_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "flask/app.py,sha256=gy_OJqE1YslJ2RIix0Eq3x0B8IPfoH-Gcc2sQMIO0Sw,666",
        "integrity sha512-W7tbEK2xuUl0MSrwmZKZ5bB9ro3rvFk8Yc4iFVGnBVTGQpCLmzzu0Tz4a9zAsBJm7tUWjLFvH9hGdHaqUJ1oPg==",
        "PASS: Ab12Cd34Ef56 of 3\nFAIL: Gh78Ij90Kl12\n",
        "nginx@sha256:1ac1f1fd85e4ed37f0264911b1bea8ab72600dc02e405fc1324e6653c4512510",
        "pod web-7d9f8b6c5d-x2k9q restarted",
        "PASS: test_Ab12Cd34Ef56Gh78Ij90.py",
        '<path d="m8-0.4,2.9-0.4,3.2 c-1.8,4.8-1.7,9.9,0.2 l-91.76.14.11"/>',
        '<path d="M 17 20 14 8 46 18 64 15 28 17 60 16 242 -1 219 -10"/>',
        "moss.org/x/sys v0.1.0/go.mod h1:k7NjWce9XRLGQEsW7wpKNCjG9DtNlClVuFLEZdDNbEs=",
        "closed socket with sessionid 0x24edfaa87170035, sessionid: 0x34ed9ac1c1e0021,E38,Processed",
        "Session: 30546174_94042385 initialized",
        "moss-draw-fuzzer-5390364397928448",
        "gpg --recv-keys 5BE8A3F6C8A5C01D106C0AD820B1A390B168D356",
        "its sizes are 648 1288 1928 2568 3208 3848 4488 5128 5768 6408 7048",
        "&hf_servingcellpriorityparametersdescription_prio",
        "a group, whose identifier (for example, `mgr_01VPTCmyiu5ZLsWkcxYG2pY8`) stays",
        "NID_pbeWithMD2AndRC2_CBC",
        'the fault was identified by "jamesh", who has basic x86-64 skills',
        "pass to `utf8mb4x2`, License: GPLv2.1+ and GFDL-1.3+-no-invariant",
        "wtoken = AppWindowToken{9f4ef63 token=Token{a64f992",
        "Phone log of Fri Sep 16 22:03:00 2011 -0700 and 1,688 (136 direct), call 20121222",
    ],
)
def test_ids_digests_and_drawings_stay(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "GET from {}:443", "ssh root@{}", "host: {}", "{} - - [21/Nov/2026]", "ping {}", '"ip": "{}"', "{}",
    ],
)  # fmt: skip
def test_four_numbers_in_the_place_of_an_address_are_one(text: str) -> None:
    assert found(text.format("91.198.174.192")) == ["91.198.174.192"]


@pytest.mark.parametrize(
    "text",
    [
        "Moss.Core {} replaces 1.12.1.0", "moss=={}", "moss>={}", "moss ^{}", "## [{}] - 2026-09-02", "moss-{}.jar",
        "| moss | {} | moss-{}.jar |", "upgraded to {}", '<Package Version="{}"/>',
    ],
)  # fmt: skip
def test_four_numbers_in_the_place_of_a_version_are_none(text: str) -> None:
    assert found(text.format("91.84.2.7", "91.84.2.7").replace("Core 91.84.2.7", "Core 91.84.2.0")) == []


@pytest.mark.parametrize(
    "number", ["030 / 90 18 20-5", "(030) / 901820", "0160/5550123", "030/ 901820", "030 / 901820"]
)
@pytest.mark.parametrize("word", ["Tel.: {}", "Telefon {}", "Ruf an: {}", "Durchwahl {}"])
def test_a_telephone_number_with_a_slash_is_found_whole_behind_its_word(number: str, word: str) -> None:
    assert found(word.format(number)) == [number]
    assert found(f"sum {number} of all") == []


@pytest.mark.parametrize(
    "text",
    [
        "Kundennummer: {4711 0815-3}",
        "account no {00123456789}", "sort code {12-34-56}", "policy number {ABC-1234567}",
        "Vertragsnummer {V 8812 4431/07} vom Mai", "numéro de contrat : {77 123 456}", "codice cliente {00417762}",
        "Número de póliza: {88-12345678}", "номер договора {8812-44310}", "Tel. {+49 30 901820 App. 12} oder",
        "your account number has 10 digits of 12345678", "contract number 2024-11-29", "claim number 1.2.3 of 2024",
    ],
)  # fmt: skip
def test_a_number_of_an_account_customer_or_contract_needs_its_word(text: str) -> None:
    assert found(text.replace("{", "").replace("}", "")) == [part.split("}")[0] for part in text.split("{")[1:]]
