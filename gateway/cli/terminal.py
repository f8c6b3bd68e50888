"""What terminals show: colours, and the text of others without control characters.

Colours are SGR sequences of ECMA-48. They are left out where the output is no terminal, with `NO_COLOR`
(no-color.org, read 2026-11-22) and on a terminal that calls itself `dumb`.
"""

from typing import TextIO

from gateway.config.environment import Environment

GOOD, BAD, DOUBTFUL, STRONG, LINK = "32", "31", "33", "1", "36"
"""SGR codes: green, red, yellow, bold, cyan."""
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)])


class Paint:
    """Colours texts for one stream, or leaves them as they are."""

    def __init__(self, out: TextIO, environment: Environment) -> None:
        variables = environment.variables
        self._is_on = out.isatty() and not variables.get("NO_COLOR") and variables.get("TERM") != "dumb"

    def __call__(self, style: str, text: str) -> str:
        """The text in one of the styles above."""
        return f"\x1b[{style}m{text}\x1b[0m" if self._is_on and text else text


def for_terminal(text: str) -> str:
    """Text of a model or of the web without control characters, which could move the cursor or rename the window."""
    return text.translate(_CONTROLS)
