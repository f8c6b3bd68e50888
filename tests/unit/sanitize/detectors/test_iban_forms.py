"""The countries' forms of account numbers, against those that python-stdnum ships."""

import re
from itertools import groupby
from pathlib import Path

import stdnum

from gateway.sanitize.detectors import cards as iban

_REGISTRY = re.compile(r'(?P<country>[A-Z]{2}) .*bban="(?P<form>[^"]+)"')


def _merged(form: str) -> str:
    """`4!a6!n8!n` -> `4a14n`: runs of one kind are one."""
    runs = re.findall(r"(\d+)!?([nac])", form)
    grouped = ((kind, sum(int(count) for count, _ in each)) for kind, each in groupby(runs, key=lambda run: run[1]))
    return "".join(f"{count}{kind}" for kind, count in grouped)


def test_the_forms_are_those_of_the_registry() -> None:
    lines = (Path(stdnum.__file__).parent / "iban.dat").read_text().splitlines()
    found = {match["country"]: _merged(match["form"]) for line in lines if (match := _REGISTRY.match(line))}
    assert len(found) > 80 and found == iban._FORMS
