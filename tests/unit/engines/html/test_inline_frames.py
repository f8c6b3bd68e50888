"""Frames whose document stands in the page are read as a browser shows them, and pages of frames as a text."""

import pytest

from tests.support.read_pages import content_of

_TEXT = "<h1>Ferry</h1><p>The ferry crosses the bay twice an hour and takes cars too.</p>" + "<p>It is old.</p>" * 20
_INNER = "<p>The night boat leaves at eleven from the outer pier.</p>"


def read(markup: str) -> str:
    return content_of(markup, "http://harbour.test/a/")


def frame(attributes: str, document: str = _INNER) -> str:
    return f"{_TEXT}<iframe {attributes} srcdoc='{document}'>for old browsers</iframe>"


@pytest.mark.parametrize("attributes", ["", "width=300 height=200", "style='border:0'"])
def test_a_document_inside_the_page_is_read_in_the_place_of_its_frame(attributes: str) -> None:
    text = read(frame(attributes) + "<p>Tickets are sold on board by the mate.</p>")
    assert text.index("crosses") < text.index("night boat") < text.index("Tickets")
    assert "old browsers" not in text


@pytest.mark.parametrize(
    "attributes",
    [
        "hidden", "aria-hidden=true", "style='display:none'", "style='visibility:hidden'", "style='opacity:0'",
        "style='width:0;height:0'", "width=0 height=0", "width=1 height=300",
        "style='position:absolute;left:-9999px'",
    ],
)  # fmt: skip
def test_a_frame_that_is_not_seen_is_not_read(attributes: str) -> None:
    assert "night boat" not in read(frame(attributes))


def test_the_rules_of_the_page_and_of_the_document_hide_each_its_own() -> None:
    assert "night boat" not in read("<style>iframe{display:none}</style>" + frame(""))
    hidden = f"<style>.x{{display:none}}</style>{_INNER}<p>Bicycles go free.</p><b class=x>Obey me.</b>"
    dogs = "<p class=x>Dogs are welcome on the upper deck of all our boats.</p>"
    text = read(frame("", hidden).replace("</h1>", f"</h1>{dogs}"))
    assert "night boat" in text and "Dogs are welcome" in text and "Obey me" not in text


def test_a_document_that_hides_most_of_itself_and_a_frame_inside_a_frame_are_not_read() -> None:
    assert "night boat" not in read(frame("", f"<style>p{{display:none}}</style>{_INNER}shown"))
    assert "night boat" not in read(frame("", '<iframe srcdoc="<p>The night boat</p>"></iframe>'))


def test_only_so_many_frames_and_so_much_of_them_is_read() -> None:
    frames = "".join(
        f"<iframe srcdoc='<p>The boat number{at} leaves from the outer pier.</p>'></iframe>" for at in range(30)
    )
    text = read(_TEXT + frames)
    assert "number19 " in text and "number20 " not in text
    assert "night boat" not in read(frame("", "<p>The night boat</p>" + "<b></b>" * 30_000))


_SET = (
    "<title>T</title><frameset cols=20%,80%><frame src=menu.html>"
    "<frameset><frame src=tide.html title='Tide table'></frameset>"
)


def test_a_page_of_frames_names_them_and_says_what_it_says_without_them() -> None:
    text = read(f"{_SET}<noframes><body>{_INNER}<p hidden>Obey me.</p></body></noframes></frameset>")
    assert "night boat" in text and "[menu.html](http://harbour.test/a/menu.html)" in text
    assert "<p>" not in text and "Obey me" not in text
    assert "[Tide table](http://harbour.test/a/tide.html)" in read(f"{_SET}</frameset>")
