"""Citations in streamed text: which links are found, and that where the stream is cut changes nothing."""

import itertools

import pytest

from gateway.services.hosted_tools.citations import CitationFinder
from gateway.services.hosted_tools.sources import Sources
from gateway.wire.hosted_answer import TextPiece

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


CASES = [
    ("plain text, nothing else", []),
    ("a [1] b [2].", [("[1]", (1,)), ("[2]", (2,))]),
    ("capital[1][2]", [("[1]", (1,)), ("[2]", (2,))]),
    ("both [1, 2] and [2;1]", [("[1, 2]", (1, 2)), ("[2;1]", (2, 1))]),
    ("ranges [1-3], [1–3] [2 - 3]", [("[1-3]", (1, 2, 3)), ("[1–3]", (1, 2, 3)), ("[2 - 3]", (2, 3))]),
    ("no ranges [1-9] [3-1] [0-2] [1-2-3]", []),
    ("mixed [1, 2-3] [^1, ^2]", [("[1, 2-3]", (1, 2, 3)), ("[^1, ^2]", (1, 2))]),
    ("全角［1］［１，２］", [("［1］", (1,)), ("［１，２］", (1, 2))]),
    ("和【1、2】【2-3】", [("【1、2】", (1, 2)), ("【2-3】", (2, 3))]),
    ("中文[1、3]。[2；3]", [("[1、3]", (1, 3)), ("[2；3]", (2, 3))]),
    ("😀 Paris[1] 👩‍👩‍👧[2]北京[3]", [("[1]", (1,)), ("[2]", (2,)), ("[3]", (3,))]),
    ("unseen ［9］ 【1、9】 ［abc］ ［1］", [("［1］", (1,))]),
    ("code a[1] a[1][2] my_list[1] $row[2] x = words[1] = 3", []),
    ("vitamin C[1], $5[2], _so_[3]", [("[1]", (1,)), ("[2]", (2,)), ("[3]", (3,))]),
    ("iPhone[1] [2] = two", [("[1]", (1,)), ("[2]", (2,))]),
    ("~~~\na [1]\n``` [2]\n~~~\n[3]", [("[3]", (3,))]),
    ("about ~~~ [1], ~2 [2] ~", [("[1]", (1,)), ("[2]", (2,))]),
    ("footnote [^2]", [("[^2]", (2,))]),
    ("unknown [9], the year [2024], half [1, 9]", []),
    ("【2】 and 【1†L3-L9】 and 【7†x】", [("【2】", (2,)), ("【1†L3-L9】", (1,))]),
    (f"see ([docs.example.com]({URL})).", [(f"([docs.example.com]({URL}))", (1,))]),
    (f"see [the guide]({URL} 'Guide'), end", [(f"[the guide]({URL} 'Guide')", (1,))]),
    (f"two ([a]({URL}), [b]({SHORT}))", [(f"[a]({URL})", (1,)), (f"[b]({SHORT})", (2,))]),
    (f"[1]({SHORT}) wins over its number", [(f"[1]({SHORT})", (2,))]),
    (f"bare {URL}, then {SHORT}.", [(URL, (1,)), (SHORT, (2,))]),
    ("without the slash: https://www.example.org", [("https://www.example.org", (2,))]),
    ("another host: https://example.org", []),
    (f"({SHORT})", [(SHORT, (2,))]),
    (f"<{SHORT}> **{SHORT}**", [(SHORT, (2,)), (SHORT, (2,))]),
    (f"读{SHORT}。再读 https://zh.example.net/北京。", [(SHORT, (2,)), ("https://zh.example.net/北京", (3,))]),
    ("读https://www.example.org的首页", [("https://www.example.org", (2,))]),
    ("unseen [x](https://evil.example/?q=1) https://evil.example/ https://www.example.org.evil/", []),
    (f"longer {SHORT}more/of/it", []),
    (f"in another https://evil.example/?u={SHORT} [1]", [("[1]", (1,))]),
    (f"![an image]({SHORT}) \\[1] \\[a]({SHORT})", []),
    (f"in code `a[1] {SHORT}` and after [1]", [("[1]", (1,))]),
    (f"```\na[1]\n{SHORT}\n``\n```\nafter [2]", [("[2]", (2,))]),
    ("a lone ` mark\nthen [1]", [("[1]", (1,))]),
    ("``x ` y[1]`` [2]", [("[2]", (2,))]),
    ("🙂🙂 [1] 👩‍👩‍👧 好 [2]", [("[1]", (1,)), ("[2]", (2,))]),
    ("open [ and ( and 【 and http and https:// and [x](", []),
    (f"[a\nb]({SHORT}", [(SHORT, (2,))]),
    (f"[[1]]({URL})", [("[1]", (1,)), (URL, (1,))]),
    ("ends with h", []),
    ("ends in a link [1]", [("[1]", (1,))]),
    (f"ends in an address {SHORT}", [(SHORT, (2,))]),
    ("x" * 400 + "[" + "y" * 400 + "] [1]", [("[1]", (1,))]),
]  # fmt: skip


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


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("text", ""), ("which", "h"), ("see [1", "[1"), ("see [1]", "[1]"), ("see [1] n", ""), ("see ([a", "([a"),
        ("see [a](https://unse", ""), ("see [a](https://docs.ex", "[a](https://docs.ex"), ("https://www.exam",
        "https://www.exam"), ("https://elsewhere", ""), ("读https://www.example.org的", ""), ("[ never\nclosed", ""),
        ("code `", "`"), ("code `a[1", ""), ("【1†", "【1†"),
    ],
)  # fmt: skip
def test_only_what_may_become_a_link_is_held_back(text: str, held: str) -> None:
    pieces = CitationFinder(sources()).push(text)
    assert "".join(piece.text for piece in pieces) == text.removesuffix(held)


def test_without_sources_nothing_waits_and_nothing_is_cited() -> None:
    finder = CitationFinder(Sources())
    assert finder.push("[1] (") == [TextPiece("[1] (")] and finder.flush() == []
