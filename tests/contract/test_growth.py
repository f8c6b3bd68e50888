"""The time of every function that reads foreign content grows in step with its input.

`bench.hostile_functions` names the functions and their inputs. A new one that reads what strangers send belongs there.
"""

import pytest

from bench.growth import grows
from bench.hostile_functions import READERS, answer


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_time_in_step_with_its_input(name: str) -> None:
    reader = READERS[name]
    slow = {}
    for kind, make in reader.inputs.items():
        found = grows(lambda value: answer(reader, value), make, reader.sizes)
        if found is not None:
            slow[kind] = found
    assert not slow, f"{name}: {slow}"
