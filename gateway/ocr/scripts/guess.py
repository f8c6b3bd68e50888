"""Guesses of which script a text is that the first reader has misread.

That reader takes each unknown letter for one that looks like it, so that a script betrays itself by what it is misread
as: Cyrillic as `KopeHOBata nanKa`, Greek as `Mεtakivnon`. The shares of these characters in pages of each script are
in misreadings.json (bench/train_scripts.py); the likeliest script is found by the characters alone (naive Bayes).
Knows neither pixels nor files of language data.
"""

import json
import math
from functools import cache
from pathlib import Path

MODEL_FILE = Path(__file__).with_name("misreadings.json")
"""`{script: {character: share}}`, Latin among them."""
LATIN = "Latin"
UNSEEN_SHARE = 0.0003
"""Stands for a character that was not seen in a script. Chosen: below the rarest share in the file. At half, single odd
characters decide; at double, letters that a script never gives count hardly against it."""
CLEAR_MARGIN = 0.15
"""A guess is clear when each of its characters is likelier by this much (natural logarithm) than in misread Latin
letters. Measured on the pages described in bench/train_scripts.py, each language left out of its own training: Latin
pages, misread ones too, stay below -.05, others are above .2 (most above 1). At half, noise gets a script; at double,
Thai gets none."""


def counted(text: str) -> str:
    """What of a text is counted: everything but digits, runs of blanks as one."""
    return "".join(character for character in " ".join(text.split()) if not character.isdigit())


def ranked(text: str) -> list[tuple[str, float]]:
    """`(script, margin over Latin)`, likeliest first; empty for a text without characters."""
    characters = counted(text)
    if not characters.strip():
        return []
    model = _log_shares()
    unseen = math.log(UNSEEN_SHARE)
    means = {
        script: sum(shares.get(character, unseen) for character in characters) / len(characters)
        for script, shares in model.items()
    }
    return sorted(((script, mean - means[LATIN]) for script, mean in means.items()), key=lambda item: -item[1])


def margin_of(text: str, script: str) -> float:
    """How much likelier each letter of a text is in a misread script than in misread Latin letters, in the mean; 0 for
    a text without letters. Signs are not counted: rows of dashes are like a misread script of many marks."""
    letters = " ".join("".join(c if c.isalpha() else " " for c in text).split())
    shares, latin, unseen = _log_shares()[script], _log_shares()[LATIN], math.log(UNSEEN_SHARE)
    return sum(shares.get(c, unseen) - latin.get(c, unseen) for c in letters) / max(1, len(letters))


def clear_guess(text: str) -> str:
    """The likeliest script of a misread text where it is clear, else Latin."""
    script, margin = next(iter(ranked(text)), (LATIN, 0.0))
    return script if margin >= CLEAR_MARGIN else LATIN


@cache
def _log_shares() -> dict[str, dict[str, float]]:
    model = json.loads(MODEL_FILE.read_text(encoding="utf-8"))
    return {
        script: {character: math.log(max(share, UNSEEN_SHARE)) for character, share in shares.items()}
        for script, shares in model.items()
    }
