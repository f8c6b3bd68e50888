"""Reading order of a page with panels (cards, side bars, boxes): each panel is read as a whole, at its place.

The panels of one level are parted into bands, one above the other, a band's panels into columns, and so on inside each
column. What lies between the bands, and what is in no panel or inside one without panels, is read as `reading_order`
says. A narrow column of smaller letters beside a wide one (contents, notes) is read after it. Pure geometry; knows
neither pixels nor text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.geometry.boxes import Rect, hull
from gateway.geometry.reading_order import Row, columns_of, is_aside, reading_order

INSIDE = 0.5
"""Share of a piece that must lie in a panel for it to belong there: the greater part."""
SLACK = 0.02
"""Panels that overlap by less, as a share of the smaller one's side, are still one above or beside the other."""
MIN_LOOSE, LOOSE_A_PANEL = 8, 3
"""So many pieces outside panels, and so many for each panel, make columns of text with boxes in them; with fewer, the
panels make the columns. At half, rows of cards are read column by column; at double, a box in a short column cuts the
column beside it."""
ASIDE_WIDTH, MAIN_WIDTH = 0.6, 0.5
"""An aside is at the left or right, and so much narrower than the widest column at least, which takes MAIN_WIDTH of the
width: cards of one width, and addresses in a row, are none, though the boxes of one's lines be lower."""


@dataclass(slots=True)
class Panel:
    """A panel with what lies directly in it: pieces by their indices, and panels."""

    rect: Rect
    pieces: list[int] = field(default_factory=list)
    panels: list["Panel"] = field(default_factory=list)

    def everything(self) -> list[int]:
        return [*self.pieces, *(index for panel in self.panels for index in panel.everything())]


Item = int | Panel


def page_order(rects: Sequence[Rect], panels: Sequence[Rect]) -> list[list[Row]]:
    """Groups of rows of indices, in reading order, as `reading_order` gives them; `panels`: of the page, maybe
    nested."""
    if not panels:
        return reading_order(rects)
    root = _tree(rects, panels)
    return _ordered(rects, [*root.pieces, *root.panels])


def panel_of(rect: Rect, panels: Sequence[Rect]) -> int:
    """The number of the smallest panel that holds the greater part of a rectangle; -1 for none."""
    holding = [number for number, panel in enumerate(panels) if rect.share_in(panel) > INSIDE]
    return min(holding, key=lambda number: panels[number].area, default=-1)


def _tree(rects: Sequence[Rect], panels: Sequence[Rect]) -> Panel:
    """The page as a panel of panels."""
    nodes = [Panel(rect) for rect in panels]
    root = Panel(hull([*rects, *panels]))
    for number, node in enumerate(nodes):
        larger = [n for n, rect in enumerate(panels) if rect.area > node.rect.area]
        owner = panel_of(node.rect, [panels[n] for n in larger])
        (nodes[larger[owner]] if owner >= 0 else root).panels.append(nodes[number])
    for index, rect in enumerate(rects):
        owner = panel_of(rect, panels)
        (nodes[owner] if owner >= 0 else root).pieces.append(index)
    return root


def _ordered(rects: Sequence[Rect], items: list[Item]) -> list[list[Row]]:
    inner = [item for item in items if isinstance(item, Panel)]
    if not inner:
        return _rows(rects, items)
    bands = _parted([panel.rect for panel in inner], upright=False)
    loose = len(items) - len(inner)
    if not _is_row_of_panels(rects, items, bands) and loose >= max(MIN_LOOSE, LOOSE_A_PANEL * len(inner)):
        parts = columns_of([_rect(rects, item) for item in items])
        if len(parts) > 1:
            return [group for part in parts for group in _ordered(rects, [items[number] for number in part])]
    if len(bands) > 1:
        return _by_bands(rects, items, bands)
    columns = _parted([panel.rect for panel in inner], upright=True)
    band = bands[0]
    beside = [item for item in items if isinstance(item, Panel) or band.y1 <= rects[item].center_y <= band.y2]
    if len(beside) < len(items):
        return _by_bands(rects, items, bands)
    if len(columns) > 1 or len(inner) < len(items):
        return _by_columns(rects, items, columns)
    panel = min(inner, key=lambda panel: (panel.rect.y1, panel.rect.x1))
    rest: list[Item] = [item for item in inner if item is not panel]
    return _ordered(rects, [*panel.pieces, *panel.panels]) + (_ordered(rects, rest) if rest else [])


def _is_row_of_panels(rects: Sequence[Rect], items: list[Item], bands: list[Rect]) -> bool:
    """Whether a band has panels side by side and nothing else: then it parts the page, not its columns."""
    for band in bands:
        inside = [item for item in items if band.y1 <= _rect(rects, item).center_y <= band.y2]
        if len(inside) > 1 and all(isinstance(item, Panel) for item in inside):
            return len(_parted([_rect(rects, item) for item in inside], upright=True)) > 1
    return False


def _rows(rects: Sequence[Rect], items: list[Item]) -> list[list[Row]]:
    """Groups of rows of pieces, where there is no panel among the items."""
    pieces = [item for item in items if not isinstance(item, Panel)]
    groups = reading_order([rects[index] for index in pieces])
    return [[[pieces[local] for local in row] for row in group] for group in groups]


def _by_bands(rects: Sequence[Rect], items: list[Item], bands: list[Rect]) -> list[list[Row]]:
    """What lies above each band, then the band itself; at last what lies below them all."""
    groups: list[list[Row]] = []
    rest = items
    for band in bands:
        above: list[Item] = [i for i in rest if not isinstance(i, Panel) and rects[i].center_y < band.y1]
        inside = [i for i in rest if i not in above and _rect(rects, i).center_y <= band.y2]
        rest = [i for i in rest if i not in above and i not in inside]
        groups += _rows(rects, above) + _ordered(rects, inside)
    return groups + _rows(rects, rest)


def _by_columns(rects: Sequence[Rect], items: list[Item], columns: list[Rect]) -> list[list[Row]]:
    """The columns of panels and, between them, of pieces beside them; an aside comes after the others."""
    parts: list[list[Item]] = [[] for _ in range(2 * len(columns) + 1)]
    for item in items:
        middle = _rect(rects, item).center_x
        before = sum(middle > column.x2 for column in columns)
        is_in = before < len(columns) and middle >= columns[before].x1
        parts[2 * before + is_in].append(item)
    parts = [part for part in parts if part]
    if len(parts) == 1:
        (panel,) = (item for item in items if isinstance(item, Panel))
        return _ordered(rects, [*panel.pieces, *panel.panels, *(i for i in items if i is not panel)])
    flat = [[rects[i] for item in part for i in _pieces(item)] for part in parts]
    extents = [hull([_rect(rects, item) for item in part]) for part in parts]
    widest = max(extent.width for extent in extents)
    asides = [
        number
        for number, part in enumerate(flat)
        if number in (0, len(parts) - 1)
        and widest >= MAIN_WIDTH * hull(extents).width
        and extents[number].width <= ASIDE_WIDTH * widest
        and is_aside(part, [rect for other in flat if other is not part for rect in other], extents[number])
    ]
    ordered = [part for number, part in enumerate(parts) if number not in asides]
    ordered += [parts[number] for number in asides]
    return [group for part in ordered for group in _ordered(rects, _unpacked(part))]


def _unpacked(items: list[Item]) -> list[Item]:
    """What is in a panel that is alone, else the items."""
    if len(items) == 1 and isinstance(items[0], Panel):
        return [*items[0].pieces, *items[0].panels]
    return items


def _pieces(item: Item) -> list[int]:
    return item.everything() if isinstance(item, Panel) else [item]


def _rect(rects: Sequence[Rect], item: Item) -> Rect:
    return item.rect if isinstance(item, Panel) else rects[item]


def _parted(rects: list[Rect], *, upright: bool) -> list[Rect]:
    """Rectangles that lie beside one another (upright columns) or above (level bands), each around some of `rects`."""
    first, last = (0, 2) if upright else (1, 3)
    parts: list[Rect] = []
    for rect in sorted(rects, key=lambda rect: rect[first]):
        slack = SLACK * min(rect[last] - rect[first], parts[-1][last] - parts[-1][first]) if parts else 0.0
        if parts and rect[first] < parts[-1][last] - slack:
            parts[-1] = parts[-1].union(rect)
        else:
            parts.append(rect)
    return parts
