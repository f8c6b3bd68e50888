"""What of a page is returned: the section that the address names, what of it answers a query, and a list of the rest.

Pure but for `anchors`, which are read from the page's tree only when they are needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.domain import Json
from gateway.engines.answer.excerpt import excerpt
from gateway.engines.answer.sections import Anchor, find, outline, sections_of


@dataclass(frozen=True, slots=True)
class PartWish:
    """The query and the address's fragment, each empty if there is none; the most characters (0: any) that can be
    returned; and how many sections to list of what is longer."""

    query: str = ""
    fragment: str = ""
    most_chars: int = 0
    most_sections: int = 0


def part_of(content: str, wish: PartWish, anchors: Callable[[], Sequence[Anchor]]) -> Json:
    """`{part?, sections?, lacks_section?}` of a page.

    `part`: what to return, when that is not the whole content. `sections`: `[{fragment, heading, chars}]` of a page
    that is longer than `most_chars`. `lacks_section`: true when the page has no section of that fragment.
    """
    answer: Json = {}
    is_long = 0 < wish.most_chars < len(content)
    if not (wish.query or wish.fragment or is_long):
        return answer
    part, span = content, (0, len(content))
    sections = sections_of(content, anchors()) if wish.fragment or is_long else []
    if wish.fragment:
        place = find(content, sections, wish.fragment)
        if place is None:
            answer["lacks_section"] = True
        else:
            start, end, above = place
            part, span = content[start:end].strip(), (start, end)
            way = f"{' > '.join(above)}\n\n" if above else ""
            part = f"{way}{part}"
            sections = [each for each in sections if start <= each.start and each.end <= end]
    if wish.query:
        part = excerpt(part, wish.query, wish.most_chars)
    if 0 < wish.most_chars < len(part):
        answer["sections"] = outline(content, sections, span, wish.most_chars, wish.most_sections)
    if part is not content:
        answer["part"] = part
    return answer
