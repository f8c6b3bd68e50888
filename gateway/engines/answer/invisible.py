"""Takes characters that nobody sees out of text: they can carry words that only a model reads.

Zero-width characters, tag characters (U+E0000 to E007F), overrides and isolates of the writing direction, repeated
variation selectors. What a script needs stays: joiners between Arabic or Indic letters and between emoji, single
variation selectors, single direction marks, the three subdivision flags. Source: Unicode 16, UAX 9, UTS 51. Pure.
"""

import re
from collections.abc import Generator

_ALWAYS = "\u180b-\u180e\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u3164\uffa0\U000e0000-\U000e007f"
_SOMETIMES = "\u061c\u200c-\u200f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_RUN = re.compile(f"[{_ALWAYS}{_SOMETIMES}]+")
_SOFT_HYPHEN = "\u00ad"
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_SELECTOR_AND_JOINER = re.compile("\ufe0f?\u200d")
_DIRECTION_MARKS = frozenset("\u061c\u200e\u200f")
_JOINERS = frozenset("\u200c\u200d")
_JOINING = re.compile(
    "[\u0600-\u08ff\u0900-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u18af\u1a20-\u1aad\u1b00-\u1bff\ua840-\ua87f"
    "\ua8e0-\ua8ff\ufb50-\ufdff\ufe70-\ufefc\U00011000-\U000114ff]"
)
"""Letters of scripts in which a joiner changes how neighbours are drawn: Arabic, Indic, Thai, Khmer, Mongolian …"""
_EMOJI = re.compile(
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_STEP_CHARS, _STEP_RUNS = 1 << 16, 512
"""Characters without an invisible one, or runs of them, that are read in one step. Chosen: about a millisecond; at half
twice as many steps, at double a step keeps others waiting for twice as long."""
_FLAG = "\U0001f3f4"
_FLAGS = frozenset(
    "".join(chr(0xE0000 + ord(letter)) for letter in name) + "\U000e007f" for name in ("gbeng", "gbsct", "gbwls")
)


def strip_invisible(text: str) -> tuple[str, int]:
    """(the text without invisible characters, how many were taken out). Soft hyphens go as well and are not counted:
    they hyphenate honest pages by the hundred."""
    if text.isascii():
        return text, 0
    text = text.replace(_SOFT_HYPHEN, "")
    if _RUN.search(text) is None:
        return text, 0
    stripped = _RUN.sub(_needed, text)
    return stripped, len(text) - len(stripped)


def strip_steps(text: str) -> Generator[None, None, tuple[str, int]]:
    """As `strip_invisible`, in steps of a few milliseconds; a short or an ASCII text takes none."""
    if len(text) <= _STEP_CHARS or text.isascii():
        return strip_invisible(text)
    text = text.replace(_SOFT_HYPHEN, "")
    kept: list[str] = []
    done = at = 0
    runs = 0
    while at < len(text):
        found = _RUN.search(text, at, at + _STEP_CHARS)
        if found is None:
            at += _STEP_CHARS
            yield
            continue
        run = _RUN.match(text, found.start())  # whole, where the window ends within it
        assert run is not None
        kept += (text[done : run.start()], _needed(run))
        done = at = run.end()
        runs += 1
        if runs % _STEP_RUNS == 0:
            yield
    stripped = "".join((*kept, text[done:]))
    return stripped, len(text) - len(stripped)


def visible(text: str) -> str:
    """The text without invisible characters."""
    return strip_invisible(text)[0]


def _needed(run: re.Match[str]) -> str:
    """The part of a run of invisible characters that the letters around it need."""
    before = run.string[run.start() - 1 : run.start()]
    after = run.string[run.end() : run.end() + 1]
    characters = run[0]
    if before == _FLAG and characters in _FLAGS:
        return characters
    if _SELECTOR_AND_JOINER.fullmatch(characters) and _EMOJI.match(before) and _EMOJI.match(after):
        return characters
    if characters[0] in _JOINERS and _JOINING.match(before) and (not after or _JOINING.match(after) or after == " "):
        return characters[0]
    if _SELECTORS.match(characters) and before and not before.isspace():
        return characters[0]
    return characters if characters in _DIRECTION_MARKS else ""
