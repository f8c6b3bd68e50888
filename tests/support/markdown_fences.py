"""Code fences as markdown-it reads them: the oracle for the gateway's own reader, and texts to compare the two on."""

from typing import Any

from hypothesis import strategies as st
from markdown_it import MarkdownIt


def fences(text: str) -> list[Any]:
    return [token for token in MarkdownIt("commonmark").parse(text) if token.type == "fence"]


def open_fences(text: str) -> int:
    """Fences that run to the end of the text for want of a closing line, as another reader of Markdown sees them."""
    probe = "the probe that comes after"
    return sum(probe in fence.content for fence in fences(f"{text}\n{probe}"))


PROSE = st.text(alphabet="ab #.", max_size=60)
CODE = st.text(alphabet="x =`~>\n ", max_size=80)
RUNS = st.sampled_from(["```", "~~~", "`````", "~~~~"])
INSIDE = st.sampled_from(["", "", "", " ", "   ", "> ", "- ", "12. ", "> - ", "- > "])


@st.composite
def fenced(draw: st.DrawFn) -> str:
    """A fence, closed or not, in a list item or a quotation now and then."""
    run, inside = draw(RUNS), draw(INSIDE)
    after = "".join(">" if char == ">" else " " for char in inside.expandtabs(4))
    lines = [run + draw(st.sampled_from(["", "python", " a b"])), *draw(CODE).split("\n")]
    lines += [run + draw(st.sampled_from(["", "`", " ", "~"]))] if draw(st.integers(0, 5)) else []
    return inside + f"\n{after}".join(lines)


TEXTS = st.lists(st.one_of(PROSE, fenced()), max_size=6).map("\n\n".join)
