"""Pages whose HTML is odd, careless or old: what a person reads in the browser stands in the Markdown.

An oddity of `oddities.txt` is a sentence, the page or a part of one, patterns that its Markdown must match (`+`), and
such that it must not (`-`). A part, which has no title, stands between two paragraphs of a page; `PROSE` is such a one.
"""

import re
from pathlib import Path

import pytest

from tests.support.read_pages import content_of

_PROSE = (
    "The canal joins two rivers and climbs a hill by eleven locks, each of which was dug by hand. Boats wait below the "
    "gates until the keeper has filled the chamber, and the whole way takes a day and a half in summer."
)
_PAGE = "<!doctype html><title>Canal</title><main><h1>Canal</h1><p>PROSE</p>{}<p>PROSE So it is told.</p></main>"
_ODDITY = re.compile(r"^# (.+)\n([^+-](?:.|\n)*?)\n((?:[+-] .+\n)+)", re.MULTILINE)
ODDITIES = _ODDITY.findall((Path(__file__).parent / "oddities.txt").read_text("utf-8"))


@pytest.mark.parametrize(("part", "patterns"), [row[1:] for row in ODDITIES], ids=[row[0] for row in ODDITIES])
def test_what_a_person_reads_is_in_the_markdown(part: str, patterns: str) -> None:
    markup = part if re.search("<(title|html|body)>|PROSE", part, re.IGNORECASE) else _PAGE.format(part)
    text = f"\n{content_of(markup.replace('PROSE', _PROSE), 'https://canal.test/locks/')}\n"
    wrong = [line for line in patterns.splitlines() if (re.search(line[2:], text) is None) == (line[0] == "+")]
    assert not wrong, text


def test_in_plain_text_a_formula_has_no_marks() -> None:
    noted = "<math><semantics><mi>E</mi><annotation encoding='application/x-tex'>E</annotation></semantics></math>"
    assert content_of(f"<p>So {noted} holds.</p>", format="text") == "So E holds."


def test_formulas_inside_each_other_are_one() -> None:
    nested = "<math>" * 300 + "<mi>x</mi>" + "</math>" * 300
    assert content_of(f"<p>So {nested} holds.</p>") == "So $x$ holds."


def test_only_so_many_frames_and_so_much_of_them_is_read() -> None:
    frames = (f"<iframe srcdoc='<p>The boat number{at} leaves from the pier.</p>'></iframe>" for at in range(30))
    text = content_of(_PAGE.replace("PROSE", _PROSE).format("".join(frames)))
    assert "number19 " in text and "number20 " not in text
    long = f"<iframe srcdoc='<p>The night boat</p>{'<b></b>' * 30_000}'></iframe>"
    assert "night boat" not in content_of(_PAGE.replace("PROSE", _PROSE).format(long))
