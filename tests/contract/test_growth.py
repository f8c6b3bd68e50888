"""The time of every function that reads foreign content grows in step with its input.

`bench.hostile_functions` names the functions and their inputs. A new one that reads what strangers send belongs there.
"""

import pytest

from bench.growth import grows
from bench.hostile import costs
from bench.hostile_functions import READERS, answer
from tests.support.cpu_time import slowness

MOST_US_PER_BYTE = 25.0
"""CPU time of a byte in a small input, with what a call costs whatever it reads, on the machine on which bounds were
chosen (`cpu_time`). Chosen: over twice that of the dearest, a page of short paragraphs; at half a busy machine fails,
at double a byte may cost what five do today."""


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_time_in_step_with_its_input(name: str) -> None:
    reader = READERS[name]
    slow = {}
    for kind, make in reader.inputs.items():
        found = grows(lambda value: answer(reader, value), make, reader.sizes)
        if found is not None:
            slow[kind] = found
    assert not slow, f"{name}: {slow}"


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("name", READERS)
def test_no_input_costs_a_reader_much_a_byte(name: str) -> None:
    reader = READERS[name]
    for make in reader.inputs.values():  # models, tables and the parser are loaded at first use
        answer(reader, make(100))
    for _ in range(3):  # each time is taken once: a collection of garbage in it costs more than the reader
        cost_us, _, kind = costs(reader, 4_000)[0]
        limit_us = MOST_US_PER_BYTE * slowness()
        if cost_us < limit_us:
            break
    assert cost_us < limit_us, f"{name}: {kind} costs {cost_us:.1f} µs a byte"
