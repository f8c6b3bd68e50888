"""Citations in streamed text: which links are found, and that where the stream is cut changes nothing.

Texts and the links in them, with the numbers of their sources, stand in `tests/golden/citations.json`.
"""

import itertools
import json
from random import Random

import pytest

from gateway.services.hosted_tools.citations import CitationFinder
from gateway.services.hosted_tools.sources import Sources
from gateway.wire.hosted_answer import TextPiece
from tests.support.paths import GOLDEN

URL = "https://docs.example.com/guide_(new)?a=1"
SHORT = "https://www.example.org/"


def sources() -> Sources:
    made = Sources()
    made.add(URL, "The guide")
    made.add(SHORT, "Home")
    made.add("https://zh.example.net/北京", "北京")
    return made


def read(*pieces: str) -> list[TextPiece]:
    finder = CitationFinder(sources())
    return [*itertools.chain.from_iterable(map(finder.push, pieces)), *finder.flush()]


def links(pieces: list[TextPiece]) -> list[tuple[int, str, tuple[int, ...]]]:
    """(place, visible link, numbers) of every citation."""
    found, place = [], 0
    for piece in pieces:
        if piece.citations:
            found.append((place, piece.text, tuple(source.number for source in piece.citations)))
        place += len(piece.text)
    return found


RECORDED = json.loads((GOLDEN / "citations.json").read_text())
CASES: list[tuple[str, list[tuple[str, tuple[int, ...]]]]] = [
    *((case["text"], [(link, tuple(numbers)) for link, numbers in case["links"]]) for case in RECORDED),
    ("x" * 400 + "[" + "y" * 400 + "] [1]", [("[1]", (1,))]),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text[:30] for text, _ in CASES])
def test_links_to_sources_are_found_and_nothing_else(text: str, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    pieces = read(text)
    assert "".join(piece.text for piece in pieces) == text
    assert [(link, numbers) for _, link, numbers in links(pieces)] == expected
    assert all(text[place : place + len(link)] == link for place, link, _ in links(pieces))


@pytest.mark.slow
@pytest.mark.parametrize("text", [text for text, _ in CASES], ids=[text[:30] for text, _ in CASES])
def test_a_text_cut_anywhere_has_the_same_links(text: str) -> None:
    whole = links(read(text))
    assert links(read(*text)) == whole, "one character at a time"
    for cut in range(len(text)):
        pieces = read(text[:cut], text[cut:])
        assert "".join(piece.text for piece in pieces) == text
        assert links(pieces) == whole, f"cut at {cut}"
    for first, second in itertools.islice(itertools.combinations(range(0, len(text), 3), 2), 200):
        assert links(read(text[:first], text[first:second], text[second:])) == whole


HELD = [
    ("text", ""), ("which", "h"), ("see [1", "[1"), ("see [1]", "[1]"), ("see [1] n", ""), ("see ([a", "([a"),
    ("see [a](https://unse", ""), ("see [a](https://docs.ex", "[a](https://docs.ex"),
    ("https://www.exam",
     "https://www.exam"),
    ("https://elsewhere", ""), ("读https://www.example.org的", ""), ("[ never\nclosed", ""), ("code `", "`"),
    ("code `a[1", ""), ("【1†", "【1†"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "held"), HELD)
def test_only_what_may_become_a_link_is_held_back(text: str, held: str) -> None:
    assert "".join(piece.text for piece in CitationFinder(sources()).push(text)) == text.removesuffix(held)


def test_without_sources_nothing_waits_and_nothing_is_cited() -> None:
    finder = CitationFinder(Sources())
    assert finder.push("[1] (") == [TextPiece("[1] (")] and finder.flush() == []


FRAGMENTS = [
    "[", "]", "(", ")", "[1]", "[2", "1]", "【1", "†", "】", "`", "```", "\n", " ", "h", "http", "://", URL, SHORT,
    "\\", "!", SHORT[:12], SHORT[12:], "<", ">", "word", "北京", "🙂", ".", ",", "[a](", "'t'", "(((((", "`" * 70,
    "https://zh.example.net/", "https://evil.example/?u=", "a", "_", "$", " = 1", "~~~", "~", "-3]", "、2", "［",
    "］", "1",
]  # fmt: skip


@pytest.mark.slow
def test_texts_of_odd_pieces_have_the_same_links_however_they_are_cut() -> None:
    """The naive form, the whole text at once, against random cuts."""
    random = Random(7)
    cited = 0
    for _ in range(1500):
        text = "".join(random.choices(FRAGMENTS, k=random.randint(1, 14)))
        whole = links(read(text))
        cited += len(whole)
        for _ in range(6):
            cuts = sorted(random.choices(range(len(text) + 1), k=random.randint(1, 5)))
            pieces = [text[start:end] for start, end in itertools.pairwise([0, *cuts, len(text)])]
            assert links(read(*pieces)) == whole, (text, pieces)
            assert "".join(piece.text for piece in read(*pieces)) == text
    assert cited > 300
