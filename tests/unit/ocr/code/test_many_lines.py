"""Pages of very many lines: what compares lines with each other gives what the naive form gives, in far less time."""

import random
from math import log

import pytest

from gateway.geometry.boxes import Line, Rect
from gateway.ocr.code import regions
from gateway.ocr.code.regions import SAME_END, SAME_PITCH, number_column
from tests.support.counted_work import growth


def _lines(count: int, seed: int) -> list[Line]:
    rng, lines = random.Random(seed), []
    for _ in range(count):
        x = rng.choice([rng.uniform(0, 100), 40, 41.5, 300])
        y = rng.choice([rng.uniform(0, 3000), 20 * rng.randrange(9)])
        rect = Rect(x, y, x + rng.choice([rng.uniform(3, 400), 20, 10]), y + rng.uniform(8, 20))
        pitch, rhythm = rng.choice([10, 10.2, 7, rng.uniform(4, 30)]), rng.choice([rng.random(), 0.5, 1])
        lines.append(Line(rect, pitch=pitch, rhythm=rhythm))
    return lines


@pytest.mark.parametrize("seed", range(50))
def test_the_commonest_pitch_and_end_are_those_of_comparing_each_line_with_each(seed: int) -> None:
    lines = _lines(5 + seed, seed)

    def ink(line: Line) -> float:
        alike = [other for other in lines if abs(log(other.pitch / line.pitch)) < SAME_PITCH]
        return sum(other.rect.width * other.rhythm for other in alike)

    middle = max(lines, key=ink).pitch
    alike = [line for line in lines if abs(log(line.pitch / middle)) < SAME_PITCH]
    weighted = sum(line.pitch * line.rect.width for line in alike) / sum(line.rect.width for line in alike)
    assert regions._commonest(lines) == pytest.approx(weighted)

    ends = [[each for each in lines if abs(each.rect.x2 - line.rect.x2) <= SAME_END * 10] for line in lines]
    assert regions._most_at_one_end(lines, SAME_END * 10) == max(ends, key=len)


def test_the_work_grows_with_the_lines() -> None:
    assert growth(regions._commonest, lambda count: _lines(count, 1), 1_000) < 3
    assert growth(lambda lines: number_column(lines, lines, 10), lambda count: _lines(count, 1), 2_000) < 3
