"""What a second opinion changes: doubtful blocks around a text that both read alike, and nothing else."""

import itertools
from typing import Any

from lxml import etree

from gateway.engines.content import blocks
from gateway.engines.content.blocks import TextBlock
from gateway.engines.content.opinion import WordPairs, follow

TEXT = "The harbour was rebuilt after the flood and opened to ferries in the spring of the next year"


def _page(markup: str) -> list[TextBlock]:
    root: Any = etree.fromstring(markup, etree.HTMLParser())
    return blocks.collect(root.find("body"))


def _pairs(*texts: str) -> WordPairs:
    return {pair for text in texts for pair in itertools.pairwise(blocks.WORD.findall(text.lower()))}


def _kept(markup: str, opinion: WordPairs, probabilities: list[float], keep: list[bool]) -> list[str]:
    found = _page(markup)
    follow(opinion, found, probabilities, keep)
    return [block.text for block, is_kept in zip(found, keep, strict=True) if is_kept]


def test_a_teaser_that_the_second_opinion_lacks_is_dropped() -> None:
    markup = f"<p>{TEXT}</p><p>Also read: nine quiet islands</p>"
    assert _kept(markup, _pairs(TEXT), [0.9, 0.8], [True, True]) == [TEXT]


def test_a_likely_block_that_it_has_is_added_and_an_unlikely_one_is_not() -> None:
    markup = f"<p>{TEXT}</p><p>Trains followed in June</p><p>Copyright of the harbour board</p>"
    opinion = _pairs(TEXT, "Trains followed in June", "Copyright of the harbour board")
    assert _kept(markup, opinion, [0.9, 0.4, 0.1], [True, False, False]) == [TEXT, "Trains followed in June"]


def test_lists_code_and_tables_inside_the_text_stay() -> None:
    markup = f"<p>{TEXT}</p><ul><li>two new piers</li></ul><pre>ferry --list</pre><p>{TEXT} again</p>"
    assert len(_kept(markup, _pairs(TEXT), [0.9] * 4, [True] * 4)) == 4


def test_a_list_behind_the_text_goes() -> None:
    markup = f"<p>{TEXT}</p><ul><li>nine quiet islands</li></ul>"
    assert _kept(markup, _pairs(TEXT), [0.9, 0.6], [True, True]) == [TEXT]


def test_an_opinion_about_another_part_of_the_page_is_not_heard() -> None:
    markup = f"<p>{TEXT}</p><p>A cookie notice of some length</p>"
    assert _kept(markup, _pairs("A cookie notice of some length"), [0.9, 0.1], [True, False]) == [TEXT]


def test_words_that_stand_alone_stay_as_they_are() -> None:
    markup = f"<p>{TEXT}</p><p>Sources</p><p>Share</p>"
    assert _kept(markup, _pairs(TEXT), [0.9, 0.6, 0.2], [True, True, False]) == [TEXT, "Sources"]
