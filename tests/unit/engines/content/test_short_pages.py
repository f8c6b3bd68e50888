"""What is read of pages of a few sentences: all that their text goes on with."""

from gateway.engines.documents.page import extract
from gateway.engines.documents.parse_pool import ExtractOptions

_FACTS = {"Country": "Norway", "County": "Vestland", "Area": "34 km²", "Population": "412", "Time zone": "UTC+01:00"}
_ROWS = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in _FACTS.items())
_BOX = f'<table class="infobox"><tr><th colspan=2>Harlow</th></tr>{_ROWS}</table>'
_TEXT = "<p>Harlow is an island in Vestland county in Norway, which lies south of Stord and north of Bomlo.</p>"


def content_of(body: str) -> str:
    markup = f"<!doctype html><title>Harlow - Wiki</title><body>{body}"
    return str(extract(markup.encode(), ExtractOptions("https://wiki.test/wiki/Harlow"))["content"])


def links(names: list[str]) -> str:
    return "<ul>" + "".join(f'<li><a href="/wiki/{name}">{name}</a></li>' for name in names) + "</ul>"


def test_lists_in_boxes_of_their_own_and_before_the_text_are_menus() -> None:
    menu = f"<div class=menu><h3>Navigation</h3>{links(['Start', 'Random', 'Upload', 'Recent'])}</div>"
    article = f"<h1>Harlow</h1>{_BOX}{_TEXT * 2}"
    assert "Upload" not in content_of(f"<h3>Go</h3>{links(['Upload'])}<div id=text>{article}</div>{menu}")
