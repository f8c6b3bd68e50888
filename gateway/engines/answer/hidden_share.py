"""How much of a page or document may be left out because it looks as if people could not see it. Pure."""

MAX_HIDDEN_SHARE = 0.3
"""Share of the text that rules about looks may leave out. The issue's own value: pages that hide all until a script has
run, and documents whose grounds are told by what is not read, would come back empty."""


def hides_too_much(hidden_chars: int, total_chars: int) -> bool:
    """Whether so much of a text would be left out that it is kept, and the note says so."""
    return hidden_chars > MAX_HIDDEN_SHARE * total_chars
