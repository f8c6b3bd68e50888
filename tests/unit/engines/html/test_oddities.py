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
