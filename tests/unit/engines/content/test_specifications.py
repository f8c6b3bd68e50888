"""The data of goods that a page tells in pairs."""

import pytest

from gateway.engines.content import blocks
from gateway.engines.content.specifications import keep_specifications
from gateway.engines.html.dom import parse

_PAIRS = (("Condition", "Used"), ("Format", "35 mm"), ("Focal length", "50 mm"))
_LIST = "<dl>" + "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in _PAIRS) + "</dl>"
_LISTS = "".join(
    f"<div class=col><dl><dt><div>{name}</div></dt><dd><div>{value}</div></dd></dl></div>" for name, value in _PAIRS
)
_TABLE = "<table>" + "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in _PAIRS) + "</table>"
_LINKS = "<dl>" + "".join(f"<dt><a href=a>{name}</a></dt><dd><a href=b>{value}</a></dd>" for name, value in _PAIRS)
_ANSWERS = "<dl>" + "<dt>May I return it?</dt><dd>" * 3 + "word " * 90


def _kept(body: str, first: str, known: str = "") -> list[str]:
    found = blocks.collect(parse(f"<body><p>Lamp</p>{body}</body>").find("body"))
    keep = [block.text == first for block in found]
    keep_specifications(found, keep, [block.text == known for block in found])
    return [block.text for block, is_kept in zip(found, keep, strict=True) if is_kept]


_ALL = [text for pair in _PAIRS for text in pair]


@pytest.mark.parametrize(("body", "first"), [(_LIST, ""), (f"<div>{_LISTS}</div>", ""), (_TABLE, "35 mm")])
def test_pairs_are_kept_whole(body: str, first: str) -> None:
    assert _kept(body, first) == _ALL


@pytest.mark.parametrize("body", [_TABLE, _LINKS, _ANSWERS, "<dl><dt>Size</dt><dd>12 cm</dd></dl>"])
def test_unlikely_tables_links_answers_and_single_pairs_are_not(body: str) -> None:
    assert _kept(body, "") == []


def test_what_is_known_to_be_no_content_stays_out() -> None:
    assert _kept(_LIST, "", known="Used") == [text for text in _ALL if text != "Used"]
