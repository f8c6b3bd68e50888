"""Pages written by hand, without names of elements, are read whole but for their menus."""

import pytest

from gateway.engines.documents.options import ExtractOptions
from gateway.engines.documents.page import extract

_STORY = "".join(
    f"<p>In the year 18{at} the miller bought a stone from the quarry behind the church and carried it home by boat."
    for at in range(40, 70)
)


def read(markup: str) -> str:
    return str(extract(markup.encode(), ExtractOptions("http://mill.test/a"))["content"])


@pytest.mark.parametrize("story", ["<p>The mill stands at the ford.", _STORY], ids=["short", "long"])
@pytest.mark.parametrize(
    "part",
    [
        "<table><tr><td>Wheel<td>oaken</table>",
        "<dl><dt>Wheel<dd>oaken</dl>",
        "<dir><li>Wheel<li>oaken</dir>",
        "<font size=2>Wheel, oaken</font><br>",
        "<address>Wheel House, oaken door</address>",
        "<p><a href=w.html>The Wheel of the mill is oaken since the flood</a>",
        "<xmp>Wheel oaken</xmp>",
        "<a href=w.html><h3>Wheel, oaken</h3></a>",
    ],
)
def test_every_part_of_such_a_page_is_read(part: str, story: str) -> None:
    text = read(f"<title>Mill</title><h1>The mill</h1>{story}{part}<p>It grinds rye on Mondays.")
    assert "Wheel" in text
    assert "oaken" in text


def test_its_menus_and_footers_are_left_out() -> None:
    menu = "<a href=a>Home</a> <a href=b>Visit us on Sunday</a> <a href=c>All our links</a>"
    text = read(f"<table><tr><td>{menu}<td><h1>The mill</h1>{_STORY}</table><footer>Imprint of Bob</footer>")
    assert "quarry" in text
    assert "Visit us" not in text
    assert "Imprint" not in text


def test_a_page_with_names_is_judged_by_the_model() -> None:
    box = "<div class='sidebar widget'><div class=item>Oaken wheels for sale</div></div>"
    assert "for sale" not in read(f"<main class=content><h1>The mill</h1>{_STORY}</main>{box}")
