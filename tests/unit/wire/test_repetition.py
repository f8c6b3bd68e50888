"""The search for repetition loops against its naive form."""

import random

import pytest

from gateway.wire.repetition import MAX_PERIOD_CHARS, SUSPECTED, Loop, find_loop


def naive(text: str) -> Loop | None:
    """Compares characters one by one, for each period."""
    reach = SUSPECTED[1]
    for period in range(1, MAX_PERIOD_CHARS + 1):
        start = len(text) - 1
        while start >= 0 and (start + period >= len(text) or text[start] == text[start + period]):
            start -= 1
        start += 1
        if len(text) >= reach and start <= len(text) - reach:
            return Loop(start, period, (len(text) - start) // period)
    return None


@pytest.mark.slow
def test_loops_are_those_that_comparing_characters_finds() -> None:
    chance, loops = random.Random(20261122), 0
    for _ in range(300):
        piece = "".join(chance.choices("ab| ", k=chance.randrange(1, 230)))
        text = "".join(chance.choices("ab| \n", k=chance.randrange(50))) + piece * (
            chance.randrange(900) // len(piece) + 1
        )
        text += piece[: chance.randrange(len(piece))] + chance.choice(["", "", "x"])
        loop = find_loop(text)
        loops += loop is not None
        assert loop == naive(text)
    assert loops > 30
