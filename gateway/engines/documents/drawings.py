"""Drawings of Office documents: a chart's title, axes and values, the texts of a diagram, what a picture shows.

Source: ECMA-376, part 1, 21.2 (charts) and 21.4 (diagrams); MS-ODRAWXML, 2.24 (the newer charts, such as waterfalls and
treemaps); read 2026-11-29.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from gateway.engines.documents.document_text import DocumentText
from gateway.engines.documents.number_formats import number_text
from gateway.engines.documents.office import R_ID, Package, Relation

_MAIN = "http://schemas.openxmlformats.org/drawingml/2006"
_A, _C, _DIAGRAM = f"{{{_MAIN}/main}}", f"{{{_MAIN}/chart}}", f"{{{_MAIN}/diagram}}"
_EXTENDED = "{http://schemas.microsoft.com/office/drawing/2014/chartex}"
_DATA = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"
_FILE = re.compile(r"\.[a-zA-Z]{3,4}$")
MAX_POINTS = 10_000
"""Rows of a chart's values."""


def write_drawings(element: Any, package: Package, relations: Mapping[str, Relation], out: DocumentText) -> None:
    """Writes the charts and diagrams inside an element. `relations`: of its part."""
    for drawn in element.iter(f"{_C}chart", f"{_EXTENDED}chart", f"{_DIAGRAM}relIds"):
        is_chart = drawn.tag != f"{_DIAGRAM}relIds"
        relation = relations.get(drawn.get(R_ID if is_chart else _DATA, ""))
        with out.part("chart" if is_chart else "diagram"):
            root = package.root(relation.target) if relation is not None else None
            if root is not None and drawn.tag == f"{_C}chart":
                _write_chart(root, out)
            elif root is not None and is_chart:
                _write_extended(root, out)
            elif root is not None:
                out.items(list(_nodes(root)))


def described(properties: Any) -> str:
    """What a drawing shows, for those who do not see it: `[picture: A duck on ice]`. "" for one word and for a file's
    name, which programs put there. `properties`: its `docPr` or `cNvPr`."""
    text = " ".join((properties.get("descr") or "").split()) if properties is not None else ""
    return f"[picture: {text}]" if " " in text and not _FILE.search(text) else ""


def _write_chart(root: Any, out: DocumentText) -> None:
    """Its title; for each plot a row for each category, a column for each series."""
    out.paragraph(_title(root.find(f"{_C}chart")))
    area = root.find(f"{_C}chart/{_C}plotArea")
    axes = {_value(each, "axId"): each for each in area.iterfind(f"*[{_C}axPos]")}
    for plot in area.iterfind(f"*[{_C}ser]"):
        own = [axes[each.get("val")] for each in plot.iterfind(f"{_C}axId") if each.get("val") in axes]
        across, up = (_title(each) for each in [*own[:2], None, None][:2])
        series = list(plot.iterchildren(f"{_C}ser"))
        places = [_categories(each) for each in series]
        names = [_named(" ".join(each.itertext(f"{_C}v")), up) for one in series for each in one.iterfind(f"{_C}tx")]
        names = names if len(names) == len(series) else [_named("", up)] * len(series)
        columns = [_points(each, "val", "yVal") for each in series]
        if all(each in (places[0], []) for each in places):
            out.table([[across, *names], *_rows([places[0], *columns])])
        else:  # each point has a place of its own
            for name, place, values in zip(names, places, columns, strict=True):
                out.table([[across, name], *_rows([place, values])])


def _write_extended(root: Any, out: DocumentText) -> None:
    """The title of a newer chart; for each series a table: the levels of its categories, the outermost first, and its
    values."""
    chart = root.find(f"{_EXTENDED}chart")
    out.paragraph(_title(chart))
    data = {each.get("id"): each for each in root.iterfind(f"{_EXTENDED}chartData/{_EXTENDED}data")}
    for series in chart.iter(f"{_EXTENDED}series"):
        own = data.get(_value(series, "dataId"), root)
        places = [each for held in own.iterfind(f"{_EXTENDED}strDim") for each in reversed(held)]
        values = list(own.iterfind(f"{_EXTENDED}numDim/{_EXTENDED}lvl"))
        columns = [_values(each) for each in (*places, *values) if each.tag == f"{_EXTENDED}lvl"]
        name = " ".join(each for held in series.iterfind(f"{_EXTENDED}tx") for each in held.itertext(f"{_EXTENDED}v"))
        out.table([[*[""] * (len(columns) - len(values)), *[name] * len(values)], *_rows(columns)])


def _rows(columns: list[list[str]]) -> list[list[str]]:
    return [list(row) for row in zip_longest(*columns, fillvalue="")]


def _named(series: str, axis: str) -> str:
    """The head of a column: `Boats (tons)`."""
    return f"{series} ({axis})" if series and axis else series or axis


def _title(element: Any) -> str:
    """The title of a chart or axis: of its own text, or of the cell that it names."""
    title = next(element.iterchildren(f"{_C}title", f"{_EXTENDED}title"), None) if element is not None else None
    return " ".join("".join(title.itertext(f"{_A}t", f"{_C}v", f"{_EXTENDED}v")).split()) if title is not None else ""


def _value(element: Any, name: str) -> str:
    child = next(element.iterchildren(f"{_C}{name}", f"{_EXTENDED}{name}"), None)
    return child.get("val", "") if child is not None else ""


def _categories(series: Any) -> list[str]:
    """The places of the values on their axis; of categories in several levels, all: `2026 Spring`."""
    levels = series.findall(f"{_C}cat//{_C}lvl")
    if not levels:
        return _points(series, "cat", "xVal")
    inner, *outer = [_values(level) for level in levels]
    texts, above = [], [""] * len(outer)
    for place, text in enumerate(inner):
        above = [
            each[place] if place < len(each) and each[place] else old for each, old in zip(outer, above, strict=True)
        ]
        texts.append(" ".join([*reversed(above), text]).strip())
    return texts


def _points(series: Any, *names: str) -> list[str]:
    return next((_values(held) for name in names if (held := series.find(f"{_C}{name}")) is not None), [])


def _values(holder: Any) -> list[str]:
    """The values that a chart keeps, in their places, each as its number format shows it."""
    found: dict[int, str] = {}
    usual = holder.findtext(f".//{_C}formatCode") or holder.get("formatCode", "")
    for point in holder.iter(f"{_C}pt", f"{_EXTENDED}pt"):
        place = point.get("idx", "")
        if place.isdecimal() and int(place[:9]) < MAX_POINTS:
            text = point.findtext(f"{_C}v") or point.text or ""
            found[int(place[:9])] = number_text(text.strip(), point.get("formatCode", usual))
    return [found.get(place, "") for place in range(max(found, default=-1) + 1)]


def _nodes(root: Any) -> Iterator[tuple[int, str, str]]:
    """The texts of a diagram as items of a list: what belongs to a node is below it."""
    points = {each.get("modelId"): each for each in root.iter(f"{_DIAGRAM}pt")}
    below: dict[str, list[tuple[int, str]]] = {}
    for each in root.iter(f"{_DIAGRAM}cxn"):
        order = each.get("srcOrd", "0")
        if each.get("type", "parOf") == "parOf":
            place = int(order[:9]) if order.isdecimal() else 0
            below.setdefault(each.get("srcId", ""), []).append((place, each.get("destId", "")))
    waiting = [(-1, name) for name, point in points.items() if point.get("type") == "doc"]
    while waiting:
        depth, name = waiting.pop()
        point = points.pop(name, None)
        if point is None:
            continue
        if point.get("type", "node") in ("node", "asst"):
            yield depth, "-", " ".join("".join(each.itertext(f"{_A}t")) for each in point.iter(f"{_A}p"))
        waiting += [(depth + 1, inner) for _, inner in sorted(below.get(name, ()), reverse=True)]
