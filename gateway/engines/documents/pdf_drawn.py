"""What is drawn on a page of a PDF beside its text: pictures, and the rules of tables, which make grids.

Coordinates are points from the top left. Sources: pypdfium2 5, PDFium's fpdf_edit.h; PDF 1.7; read 2026-11-22.
"""

import ctypes
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from gateway.geometry.boxes import Rect, hull
from gateway.geometry.tables import Grid

MAX_OBJECTS, MAX_SEGMENTS, MAX_FORM_DEPTH = 5_000, 400, 4
"""Drawn objects of a page, segments of one path, and forms inside forms that are looked at."""
MIN_RULE, RULE_WIDTH, SAME_RULE = 8.0, 3.0, 3.0
"""Least length of a rule and its greatest width, in points; rules no further apart are one."""
MAX_RULES, MAX_CELLS = 1_000, 4_000


def holds(rect: Rect, other: Rect) -> bool:
    """Whether the middle of the other box is in a box."""
    return rect.x1 <= other.center_x <= rect.x2 and rect.y1 <= other.center_y <= rect.y2


class Drawn:
    """What is drawn on a page beside text: `rules` are thin boxes."""

    def __init__(self, raw: Any, height: float) -> None:
        self._raw = raw
        self._height = height
        self._invisible: dict[int, bool] = {}
        self._pictures: list[Rect] = []
        self.rules: list[Rect] = []
        self._left = MAX_OBJECTS

    def collect(self, page: Any) -> None:
        """Takes the objects of a page."""
        objects = (self._raw.FPDFPage_GetObject(page, at) for at in range(self._raw.FPDFPage_CountObjects(page)))
        self._collect(objects, (1, 0, 0, 1, 0, 0), 0)

    def hides(self, text: Any, index: int, rect: Rect) -> bool:
        """Whether a letter is not drawn, and there is no picture where it stands."""
        owner = self._raw.FPDFText_GetTextObject(text, index)
        if not owner:
            return False
        address = ctypes.addressof(owner.contents)
        if address not in self._invisible:
            mode = self._raw.FPDFTextObj_GetTextRenderMode(owner)
            self._invisible[address] = mode == self._raw.FPDF_TEXTRENDERMODE_INVISIBLE
        return self._invisible[address] and not any(holds(picture, rect) for picture in self._pictures)

    def _collect(self, objects: Iterable[Any], matrix: tuple[float, ...], depth: int) -> None:
        raw = self._raw
        for drawn in objects:
            self._left -= 1
            if self._left < 0:
                return
            kind = raw.FPDFPageObj_GetType(drawn)
            if kind == raw.FPDF_PAGEOBJ_IMAGE:
                self._pictures.append(self._rect([*_corners(1, 1)], _joined(_matrix_of(raw, drawn), matrix)))
            elif kind == raw.FPDF_PAGEOBJ_PATH and len(self.rules) < MAX_RULES:
                self.rules += self._rules_of(drawn, _joined(_matrix_of(raw, drawn), matrix))
            elif kind == raw.FPDF_PAGEOBJ_FORM and depth < MAX_FORM_DEPTH:
                inside = (raw.FPDFFormObj_GetObject(drawn, at) for at in range(raw.FPDFFormObj_CountObjects(drawn)))
                self._collect(inside, _joined(_matrix_of(raw, drawn), matrix), depth + 1)

    def _rules_of(self, path: Any, matrix: tuple[float, ...]) -> Iterator[Rect]:
        """The upright and level sides of a path that is stroked; all of a thin one that is filled."""
        raw = self._raw
        fill, is_stroked = ctypes.c_int(), ctypes.c_int()
        if not raw.FPDFPath_GetDrawMode(path, fill, is_stroked) or not (fill.value or is_stroked.value):
            return
        points = [each for run in self._runs(path, matrix) for each in run]
        if not points:
            return
        whole = self._rect(points, (1, 0, 0, 1, 0, 0))
        if min(whole.width, whole.height) <= RULE_WIDTH:
            if max(whole.width, whole.height) >= MIN_RULE:
                yield whole
        elif is_stroked.value:
            for run in self._runs(path, matrix):
                for (x1, y1), (x2, y2) in pairwise(run):
                    side = self._rect([(x1, y1), (x2, y2)], (1, 0, 0, 1, 0, 0))
                    if min(side.width, side.height) <= 1 and max(side.width, side.height) >= MIN_RULE:
                        yield side

    def _runs(self, path: Any, matrix: tuple[float, ...]) -> list[list[tuple[float, float]]]:
        """The points of each closed or open part of a path; none of one that has curves or very many."""
        raw = self._raw
        runs: list[list[tuple[float, float]]] = []
        count = raw.FPDFPath_CountSegments(path)
        x, y = ctypes.c_float(), ctypes.c_float()
        for number in range(count if count <= MAX_SEGMENTS else 0):
            segment = raw.FPDFPath_GetPathSegment(path, number)
            kind = raw.FPDFPathSegment_GetType(segment)
            if kind == raw.FPDF_SEGMENT_BEZIERTO or not raw.FPDFPathSegment_GetPoint(segment, x, y):
                return []
            point = _moved((x.value, y.value), matrix)
            if kind == raw.FPDF_SEGMENT_MOVETO or not runs:
                runs.append([point])
            else:
                runs[-1].append(point)
            if raw.FPDFPathSegment_GetClose(segment):
                runs[-1].append(runs[-1][0])
        return runs

    def _rect(self, points: list[tuple[float, float]], matrix: tuple[float, ...]) -> Rect:
        moved = [_moved(point, matrix) for point in points]
        xs, ys = [x for x, _ in moved], [self._height - y for _, y in moved]
        return Rect(min(xs), min(ys), max(xs), max(ys))


def _corners(width: float, height: float) -> list[tuple[float, float]]:
    return [(0, 0), (width, 0), (0, height), (width, height)]


def _matrix_of(raw: Any, drawn: Any) -> tuple[float, ...]:
    matrix = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(drawn, matrix):
        return (1, 0, 0, 1, 0, 0)
    return (matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _moved(point: tuple[float, float], matrix: tuple[float, ...]) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * point[0] + c * point[1] + e, b * point[0] + d * point[1] + f


def _joined(inner: tuple[float, ...], outer: tuple[float, ...]) -> tuple[float, ...]:
    """The matrix that applies `inner` and then `outer`."""
    e, f = _moved((inner[4], inner[5]), outer)
    a, b = outer[0] * inner[0] + outer[2] * inner[1], outer[1] * inner[0] + outer[3] * inner[1]
    c, d = outer[0] * inner[2] + outer[2] * inner[3], outer[1] * inner[2] + outer[3] * inner[3]
    return (a, b, c, d, e, f)


def grids_of(rules: list[Rect]) -> list[Grid]:
    """The grids that rules draw which touch one another."""
    groups: list[list[Rect]] = []
    for rule in rules:
        near = Rect(rule.x1 - SAME_RULE, rule.y1 - SAME_RULE, rule.x2 + SAME_RULE, rule.y2 + SAME_RULE)
        touching = [group for group in groups if any(_meet(near, other) for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([each for group in touching for each in group] + [rule])
    return [grid for group in groups if (grid := _grid(group)) is not None]


def _meet(rect: Rect, other: Rect) -> bool:
    return rect.x1 <= other.x2 and other.x1 <= rect.x2 and rect.y1 <= other.y2 and other.y1 <= rect.y2


def _grid(rules: list[Rect]) -> Grid | None:
    """The grid of rules; None where they make no two rows and two columns."""
    level = [rule for rule in rules if rule.width >= rule.height]
    upright = [rule for rule in rules if rule.width < rule.height]
    if not level or not upright:
        return None
    around = hull(rules)
    xs = _places([rule.center_x for rule in upright] + [around.x1, around.x2])
    ys = _places([rule.center_y for rule in level] + [around.y1, around.y2])
    if len(xs) < 3 or len(ys) < 3 or len(xs) * len(ys) > MAX_CELLS:
        return None
    middles_x, middles_y = ([(one + two) / 2 for one, two in pairwise(each)] for each in (xs, ys))
    walls_right = tuple(tuple(_is_wall(upright, x, y, is_upright=True) for x in xs[1:-1]) for y in middles_y)
    walls_below = tuple(tuple(_is_wall(level, x, y, is_upright=False) for x in middles_x) for y in ys[1:-1])
    return Grid(tuple(xs), tuple(ys), walls_right, walls_below)


def _places(values: list[float]) -> list[float]:
    """The values in order, those close together as one."""
    found: list[float] = []
    for value in sorted(values):
        if not found or value - found[-1] > SAME_RULE:
            found.append(value)
    return found


def _is_wall(rules: list[Rect], x: float, y: float, *, is_upright: bool) -> bool:
    """Whether one of the rules passes a point."""
    across, along = (SAME_RULE, 0.0) if is_upright else (0.0, SAME_RULE)
    return any(rule.x1 - across <= x <= rule.x2 + across and rule.y1 - along <= y <= rule.y2 + along for rule in rules)
