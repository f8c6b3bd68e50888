"""Charts, diagrams and boxes of Office documents: titles, axes, values and texts, in reading order."""

import pptx
import pytest
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Emu

from tests.support.office_files import docx_file, odt_file, repacked, saved, text_in, xlsx_file
from tests.support.paths import GOLDEN

_MAIN = "http://schemas.openxmlformats.org/drawingml/2006"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_CHART = f'<c:chart xmlns:c="{_MAIN}/chart" xmlns:r="{_RELATIONS}" r:id="rId90"/>'
_DIAGRAM = f'<d:relIds xmlns:d="{_MAIN}/diagram" xmlns:r="{_RELATIONS}" r:dm="rId90"/>'


def _related(kind: str, target: str) -> str:
    return f'<Relationship Id="rId90" Type="{_RELATIONS}/{kind}" Target="{target}"/></Relationships>'


def _in_a_text(drawn: str, kind: str, part: str) -> str:
    """What is read of a .docx that begins with this drawing, whose relation leads to this part."""
    paragraph = ("<w:body>", f"<w:body><w:p><w:r><w:drawing>{drawn}</w:drawing></w:r></w:p>")
    relation = ("</Relationships>", _related(kind, "part9.xml"))
    return text_in("docx", repacked(docx_file(), paragraph, relation, parts={"word/part9.xml": part}))


def _chart_part() -> str:
    """A chart of boats by season, as PowerPoint writes it."""
    deck = pptx.Presentation()
    values = CategoryChartData(number_format="0%")
    year = values.add_category("2026")
    year.add_sub_category("Spring")
    year.add_sub_category("Summer")
    values.add_series("Full", (0.25, 0.5))
    values.add_series("Empty", (0.75, 0.5))
    shapes = deck.slides.add_slide(deck.slide_layouts[6]).shapes
    chart = shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Emu(0), Emu(0), Emu(9), Emu(9), values).chart
    chart.has_title = chart.category_axis.has_title = chart.value_axis.has_title = True
    chart.chart_title.text_frame.text = "Boats in harbour"
    chart.category_axis.axis_title.text_frame.text = "Season"
    chart.value_axis.axis_title.text_frame.text = "share"
    part: bytes = chart.part.blob
    return part.decode()


_WRITTEN = (
    "Boats in harbour\n\n| Season | Full (share) | Empty (share) |\n| --- | --- | --- |\n"
    "| 2026 Spring | 25 % | 75 % |\n| 2026 Summer | 50 % | 50 % |"
)


def test_a_chart_of_a_text_is_its_title_axes_and_values() -> None:
    assert _in_a_text(_CHART, "chart", _chart_part()).startswith(_WRITTEN)


def test_a_newer_chart_is_its_title_and_the_values_of_each_series() -> None:
    part = (GOLDEN / "documents" / "waterfall_chart.xml").read_text()
    drawn = _CHART.replace(f"{_MAIN}/chart", "http://schemas.microsoft.com/office/drawing/2014/chartex")
    assert _in_a_text(drawn, "chartEx", part).startswith(
        "Cash in a year\n\n|  |  | Cash |\n| --- | --- | --- |\n| 2026 | Opening | CHF 100 |\n|  | Sales | CHF 40 |\n"
        "|  | Rent | -CHF 25 |"
    )


def test_what_is_drawn_over_a_sheet_follows_it() -> None:
    box = "<xdr:txBody><a:p><a:r><a:t>Counted by </a:t></a:r><a:r><a:t>Ada</a:t></a:r></a:p></xdr:txBody>"
    drawing = f'<xdr:wsDr xmlns:xdr="{_MAIN}/spreadsheetDrawing" xmlns:a="{_MAIN}/main">{box}{_CHART}</xdr:wsDr>'
    start = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    added = {
        "xl/drawings/drawing1.xml": drawing,
        "xl/drawings/chart9.xml": _chart_part(),
        "xl/drawings/_rels/drawing1.xml.rels": start + _related("chart", "chart9.xml"),
        "xl/worksheets/_rels/sheet1.xml.rels": start + _related("drawing", "../drawings/drawing1.xml"),
    }
    read = text_in("xlsx", repacked(xlsx_file(), parts=added))
    assert read.endswith("| Paint | 12 | FALSE |\n\nCounted by Ada\n\n" + _WRITTEN)


def test_points_of_a_chart_that_have_places_of_their_own_keep_them() -> None:
    deck = pptx.Presentation()
    values = XyChartData()
    for name, points in (("North", ((1, 2), (3, 4))), ("South", ((5, 6),))):
        series = values.add_series(name)
        for point in points:
            series.add_data_point(*point)
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, Emu(0), Emu(0), Emu(9), Emu(9), values)
    read = text_in("pptx", saved(deck), plain=True).split("\n\n")
    assert read[1:] == ["\tNorth\n1\t2\n3\t4", "\tSouth\n5\t6"]


def test_the_texts_of_a_diagram_are_a_list() -> None:
    texts = {"1": "Crew", "2": "Deck", "3": "Engine", "4": "Captain"}
    points = "".join(
        f'<d:pt modelId="{name}"><d:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></d:t></d:pt>'
        for name, text in texts.items()
    )
    order = (("0", "1", 0), ("1", "3", 2), ("1", "2", 1), ("0", "4", 1), ("4", "1", 0))
    lines = "".join(f'<d:cxn srcId="{above}" destId="{below}" srcOrd="{at}"/>' for above, below, at in order)
    start = f'<d:dataModel xmlns:d="{_MAIN}/diagram" xmlns:a="{_MAIN}/main"><d:pt modelId="0" type="doc"/>'
    read = _in_a_text(_DIAGRAM, "diagramData", f"{start}{points}{lines}</d:dataModel>")
    assert read.startswith("- Crew\n  - Deck\n  - Engine\n- Captain\n\n# Harbour report")


def test_a_chart_of_an_odt_is_its_titles_and_table() -> None:
    names = ("chart", "table", "text")
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names)
    cells = "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in ("Spring", "12"))
    table = f"<table:table><table:table-row>{cells}</table:table-row></table:table>"
    title = "<chart:title><text:p>Boats in harbour</text:p></chart:title>"
    part = f"<root {spaces}><chart:chart>{title}{table}</chart:chart></root>"
    link = 'xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="./Object 1"'
    body = odt_file(f"<text:p>See:<draw:frame><draw:object {link}/></draw:frame></text:p>")
    read = text_in("odt", repacked(body, parts={"Object 1/content.xml": part}), plain=True)
    assert read.split("\n\n") == ["See:", "Boats in harbour", "Spring\t12"]


@pytest.mark.parametrize(
    ("boxes", "order"),
    [
        ([(0, 3, 4), (0, 0, 4), (0, 1.5, 4)], "bca"),  # drawn from bottom to top
        ([(6, 0, 4), (6, 1.1, 4), (0, 0, 4), (0, 1.1, 4)], "cdab"),  # two columns, each with its head
        ([(5, 2, 4), (0, 2, 4), (5, 0, 4), (0, 0, 4)], "dcba"),  # cards in rows
    ],
)
def test_the_boxes_of_a_slide_are_read_as_they_stand(boxes: list[tuple[float, float, float]], order: str) -> None:
    deck = pptx.Presentation()
    shapes = deck.slides.add_slide(deck.slide_layouts[6]).shapes
    for name, (x, y, width) in zip("abcd", boxes, strict=False):
        shapes.add_textbox(*(Emu(round(900_000 * each)) for each in (x, y, width, 1))).text_frame.text = name
    assert text_in("pptx", saved(deck), plain=True).split("\n\n")[1:] == list(order)


def test_a_placeholder_stands_where_its_layout_has_it() -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[3])  # a title, and two contents side by side
    slide.shapes.title.text = "Stores"
    slide.placeholders[2].text, slide.placeholders[1].text = "right", "left"
    slide.shapes.add_textbox(Emu(0), Emu(6_700_000), Emu(900_000), Emu(90_000)).text_frame.text = "below"
    tree = slide.shapes._spTree
    tree.insert(2, tree[-1])
    assert text_in("pptx", saved(deck), plain=True).split("\n\n")[1:] == ["Stores", "left", "right", "below"]
