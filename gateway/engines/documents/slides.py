"""Slides (.pptx) as Markdown, by python-pptx (extra `office`). Knows no network.

Source: python-pptx 1.0, read 2026-11-22.
"""

import io
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.sheets import value_text
from gateway.engines.documents.slide_looks import SlideLooks, is_hidden, texts_of, theme_colours
from gateway.engines.html.colours import Colour

FOOTERS = (13, 14, 15, 16)
"""Kinds of placeholders (PP_PLACEHOLDER): slide number, header, footer, date."""
MAX_DEPTH = 8
"""Groups inside groups on a slide. Chosen: people nest two or three."""


def read_pptx(pptx: Any, body: bytes, out: DocumentText) -> str:
    """Writes every slide that is shown: a mark, its title as heading, texts, tables, charts' values, the speaker's
    notes; the deck's title or ""."""
    deck = pptx.Presentation(io.BytesIO(body))
    size, themes = (deck.slide_width or 0, deck.slide_height or 0), _Themes(pptx.oxml.parse_xml)
    for number, slide in enumerate(deck.slides, 1):
        if out.is_full:
            break
        if slide.element.get("show") in ("0", "false"):
            continue
        out.mark(f"slide {number}")
        shown = _Shapes(SlideLooks(slide, size, themes.of(slide)), out)
        title = slide.shapes.title
        if title is not None and shown.is_seen(title):
            out.heading(2, title.text_frame.text)
        for shape in slide.shapes:
            if (title is None or shape.shape_id != title.shape_id) and not _is_footer(shape):
                shown.write(shape, 0)
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
            out.paragraph(f"Notes: {frame.text.strip()}")
    return str(deck.core_properties.title or "")


def _is_footer(shape: Any) -> bool:
    """Whether a shape is the slide's number, date, header or footer."""
    return bool(shape.is_placeholder) and shape.placeholder_format.type in FOOTERS


def _write_chart(chart: Any, out: DocumentText) -> None:
    """A chart's values: a row for each category, a column for each series."""
    for plot in chart.plots:
        series = list(plot.series)
        names = [[str(name) for name in plot.categories], *([value_text(v) for v in one.values] for one in series)]
        rows = zip_longest(*names, fillvalue="")
        out.table([["", *(str(one.name) for one in series)], *(list(row) for row in rows)])


class _Themes:
    """The colours of a deck's masters, each read once."""

    def __init__(self, parse: Callable[[bytes], Any]) -> None:
        self._parse = parse
        self._known: dict[str, dict[str, Colour]] = {}

    def of(self, slide: Any) -> dict[str, Colour]:
        """The colours of the theme of a slide."""
        master = slide.slide_layout.slide_master
        name = str(master.part.partname)
        if name not in self._known:
            self._known[name] = theme_colours(master, self._parse)
        return self._known[name]


class _Shapes:
    """Writes the shapes of a slide that people can see."""

    def __init__(self, looks: SlideLooks, out: DocumentText) -> None:
        self._looks = looks
        self._out = out

    def is_seen(self, shape: Any) -> bool:
        """Whether a shape is not left out; its unseen runs are taken out of it."""
        hidden = is_hidden(shape)
        if (hidden or self._looks.is_beside(shape)) and self._out.leaves_out(texts_of(shape), is_declared=hidden):
            return False
        self._looks.blank(shape, self._out)
        return True

    def write(self, shape: Any, depth: int) -> None:
        """A shape, and those of a group."""
        if hasattr(shape, "shapes"):
            if depth < MAX_DEPTH and self._is_shown_group(shape):
                for inner in shape.shapes:
                    self.write(inner, depth + 1)
        elif self.is_seen(shape):
            _write_shape(shape, self._out)

    def _is_shown_group(self, shape: Any) -> bool:
        hidden = is_hidden(shape)
        is_unseen = hidden or self._looks.is_beside(shape)
        return not (is_unseen and self._out.leaves_out(texts_of(shape), is_declared=hidden))


def _write_shape(shape: Any, out: DocumentText) -> None:
    if getattr(shape, "has_table", False):
        out.table([[cell.text for cell in row.cells] for row in shape.table.rows])
    elif getattr(shape, "has_chart", False):
        _write_chart(shape.chart, out)
    elif getattr(shape, "has_text_frame", False):
        paragraphs = [each for each in shape.text_frame.paragraphs if each.text.strip()]
        if len(paragraphs) == 1 and paragraphs[0].level == 0:
            out.paragraph(paragraphs[0].text)
        else:
            out.items([(each.level, "-", each.text) for each in paragraphs])
