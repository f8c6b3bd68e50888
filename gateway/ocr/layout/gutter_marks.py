"""The marks in the gutter of an editor: bars beside changed lines, which the detector takes for a line's first sign.

They stand left of all text, and fill the height of their rows; no letter does. Works on the cells of a block.
"""

from typing import Any

from gateway.ocr.extras import vision

DARK = 0.4
"""Ink, of the darkest, that counts."""
MAX_COLUMNS = 3
"""Columns of cells from the left that may hold marks: they are a few pixels wide, and may stand across two cells."""
FILLED = 0.85
"""Least share of ink in the box around a mark. At half, the corner of a frame is a mark; at double (above 1), none
is."""
DIRTY_SHARE = 0.2
"""Cells of a column of marks that may hold something else, for each mark: the ends of marks where pictures are
compressed with loss. At half, dirty marks stay; at double, so does a column of text with a few bars."""
MOST_ROWS = 0.6
"""Share of the rows that have a mark in a column, at most; bars beside more of them are the side of a frame."""


def marked_columns(ink: Any, inked: Any) -> int:
    """The number of columns from the left that hold nothing but marks. `ink`: rows x columns x height x width, 0 to 1;
    `inked`: rows x columns."""
    _, numpy = vision()
    inked_columns = numpy.flatnonzero(inked.any(axis=0))
    marked = 0
    for column in inked_columns[:MAX_COLUMNS].tolist():
        cells = ink[:, column] >= DARK
        through = sum(_is_piece(cell) for cell in cells if cell.any(axis=1).all())
        others = sum(not _is_piece(cell) for cell in cells[inked[:, column]])
        if not 0 < through <= MOST_ROWS * len(ink) or others > DIRTY_SHARE * through:
            break
        marked = column + 1
    return marked


def _is_piece(cell: Any) -> bool:
    """Whether a cell's ink is a filled box that reaches its upper or lower side."""
    _, numpy = vision()
    rows, columns = numpy.flatnonzero(cell.any(axis=1)), numpy.flatnonzero(cell.any(axis=0))
    if not len(rows) or (rows[0] > 0 and rows[-1] < len(cell) - 1):
        return False
    return bool(cell[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].mean() >= FILLED)
