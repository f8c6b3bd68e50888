"""Reads again what the first reader does not know: lines in other scripts, by region, with the installed language data.

The first reader knows Latin, Chinese and Japanese letters and takes others for these. Lines that its text explains
badly are doubtful. While there are enough of them, the widest are read by each script's data, the likeliest first
(`guess`); the best reading decides, and the area of the doubtful lines is read with it. What is left and clearly in a
script without data loses its text, which would be invented, and is named. Knows nothing of layout and networks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any, Protocol

from gateway.geometry.boxes import Line, Rect, hull
from gateway.ocr.scripts import guess, packs
from gateway.ocr.scripts.latin_words import without_invented_words, without_seen_words

DOUBTFUL_FIT = 0.93
"""Fit below which a line is doubtful. Measured on the pages described in bench/train_scripts.py: nine in ten lines in
Latin letters, sharp ones, are above, nine in ten of other scripts below. At half, Greek passes; at double, all lines
are doubtful."""
MIN_LETTERS, MIN_SHARE = 10, 0.08
"""Fewer characters in doubtful lines, or a smaller share of those looked at, are formulas, marks, worn words. At half
such pages take twice the time; at double, a line of another script on a page is missed."""
GUESS_LETTERS = 30
"""Characters from which a guess is trusted to take a text away. At half, worn words are taken away; at double, short
letters in a script that cannot be read stay as gibberish."""
SURE_EVIDENCE = 20.0
"""A shorter text is taken away if all its characters together are likelier by this much (natural logarithm). Chosen:
twenty Korean letters give 47, one misread heading in Cyrillic letters 4. At half, worn words are taken away; at double,
labels and headings stay as gibberish."""
MIN_HINT = 8
"""Characters, without digits, from which a script is named, the text kept. Chosen: two words. At half, a worn number
with its currency is a script; at double, a button's label in another script is only called uncertain."""
KOREAN_FIT = 0.63
"""Fit, the mean over letters, from which lines read as Chinese are Chinese. Measured on 12 blurred and sharp pages
each: Korean ones reach .58, Chinese and Japanese ones have .67 and more. At half Korean is given as Chinese signs; at
double, above 1, blurred Chinese is left out as Korean."""
SPARSE = 0.2
"""Characters for each line height of width below which a line is doubtful however well they fit: of letters that look
like none it knows, the first reader gives the full stops alone. Chosen: text in Latin letters has two, wide rows of
headings one half. At half, a sentence of few words with its comma and full stop is believed; at double, single labels
in wide boxes are doubted."""
VIETNAMESE_MARGIN = 0.3
"""A line of GUESS_LETTERS letters is Vietnamese from this margin on (`guess.margin_of`). Measured on 412,000 messages
of programs, as written: five in other languages with Latin letters are above (Irish and Navajo), three in four
Vietnamese; misread ones more. At half, Irish is Vietnamese; at double, half of the Vietnamese lines pass."""
TRIAL_LINES, MAX_TRIALS = 3, 8
"""Lines read by each script's data in a trial, of which the second best counts, and packs tried. Chosen: a trial of a
line takes 0.02 to 0.1 s. At half the lines one with figures or names alone decides; at double every doubtful page takes
half a second more."""
MIN_TRIAL = 0.55
"""Least confidence times the share of letters that are of the script. Measured: the right data reaches .7 and more,
wrong data .4 at most. At half, noise is read; at double (above 1), nothing."""
SURE_TRIAL = 0.75
"""From it on no other script is tried. At half, a wrong script may win; at double (above 1), all are always tried."""
MIN_FIT, MIN_OWN = 0.4, 0.3
"""A line is taken over with this confidence and this share of letters of the script; others keep the first reading. At
half, noise becomes text; at double, lines with Latin names are lost."""
MAX_ALONE = 24
"""Lines that the reading of the area missed and that are read one by one, at 0.02 to 0.1 s each. Chosen: labels and
single words. At half some stay unread; at double, a page of noise takes two seconds more."""
COVERED = 0.3
"""The share of a line's area inside a line that replaces it."""
MAX_ROUNDS = 3
"""Scripts on one page beside those that the first reader knows. Each round reads an area."""
MARGIN = 0.35
"""Margin around lines, in their heights: marks above and below letters. At half, Thai vowels are cut; at double, the
neighbouring lines get in."""
SAMPLE_LINES = 12
"""Lines by which a page is judged before all of it is read, spread over the page. Chosen: of a page of 40 lines a
paragraph of five is met nine times in ten. At half every third is missed; at double, the first block of a streamed
answer comes later."""
LACKING_FIT = 0.5
"""Confidence of Vietnamese lines as the first reader reads them, which leaves letters out without noticing."""


class ScriptReader(Protocol):
    """What `tesseract.Tesseract` does."""

    @property
    def installed(self) -> list[packs.Pack]:
        """The language data that it reads with."""
        ...

    def read_line(self, gray: Any, rect: Rect, pack: packs.Pack, size: float, *, is_mixed: bool = True) -> Line:
        """The one line in an area. `size`: of its letters in pixels; `is_mixed`: it may have Latin words."""
        ...

    def read_area(self, gray: Any, rect: Rect, pack: packs.Pack, size: float) -> list[Line]:
        """The lines in an area."""
        ...


@dataclass(frozen=True, slots=True)
class Resolved:
    """The page's lines, read again where they could be, and `(script, warning)` for each that could not."""

    lines: list[Line]
    unreadable: list[tuple[str, str]]


def sample_of(lines: Sequence[Line]) -> list[Line]:
    """Lines by which to judge a page."""
    return list(lines[:: max(1, len(lines) // SAMPLE_LINES)])


def is_suspect(lines: Sequence[Line]) -> bool:
    """Whether read lines may be in a script that the first reader does not know."""
    doubtful = [line for line in lines if _is_doubtful(line)]
    letters = sum(len(line.text) for line in lines)
    return _are_many(doubtful, letters) or bool(_vietnamese(lines))


def resolve(lines: list[Line], gray: Any, reader: ScriptReader | None) -> Resolved:
    """The lines of a suspect page, all read by the first reader. `gray`: the page, 8 bits, dark on light."""
    vietnamese = _vietnamese(lines)
    doubtful = vietnamese or [line for line in lines if _is_doubtful(line)]
    chosen = {id(line) for line in doubtful}
    kept = [line for line in lines if id(line) not in chosen]
    for _ in range(MAX_ROUNDS):
        pack = _best_pack(doubtful, gray, reader) if reader is not None else None
        if reader is None or pack is None:
            break
        area = hull([_with_margin(line.rect) for line in doubtful])
        size = median(line.size for line in doubtful)
        fresh = [line for line in reader.read_area(gray, area, pack, size) if _belongs(line, pack.script)]
        unmixed = partial(_read_unmixed, gray, reader, pack, size)
        fresh = without_invented_words(fresh, lines, unmixed)
        doubtful, before = [line for line in doubtful if not _is_covered(line, fresh)], len(doubtful)
        kept = [line for line in kept if not _is_covered(line, fresh)] + fresh
        doubtful, alone = _read_alone(doubtful, gray, reader, pack)
        kept += without_invented_words(alone, lines, unmixed)
        if len(doubtful) == before or not _are_many(doubtful, sum(len(line.text) for line in kept + doubtful)):
            break
    if vietnamese and len(doubtful) == len(vietnamese):
        lacking = [replace(line, fit=min(line.fit, LACKING_FIT)) for line in doubtful]
        return Resolved(
            _in_order(kept + lacking), [(packs.VIETNAMESE, _missing(packs.VIETNAMESE, "is missing letters"))]
        )
    left, unreadable = _without_gibberish(doubtful, kept, reader)
    return Resolved(_in_order(left), unreadable)


def _in_order(lines: list[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (line.rect.y1, line.rect.x1))


def _is_doubtful(line: Line) -> bool:
    long, short = max(line.rect.width, line.rect.height), max(1.0, min(line.rect.width, line.rect.height))
    return line.fit < DOUBTFUL_FIT or len("".join(line.text.split())) < SPARSE * long / short


def _are_many(doubtful: Sequence[Line], letters: int) -> bool:
    """Whether so much is doubtful, of `letters` in all, that it is more than worn words."""
    count = sum(len(line.text) for line in doubtful)
    return count >= MIN_LETTERS and count >= MIN_SHARE * letters


def _vietnamese(lines: Sequence[Line]) -> list[Line]:
    """The lines of a page in Vietnamese; on a page in several languages those that are so by themselves."""
    text = " ".join(line.text for line in lines)
    is_clear = len(text) >= GUESS_LETTERS and guess.clear_guess(text) == packs.VIETNAMESE
    if is_clear and guess.margin_of(text, packs.VIETNAMESE) >= guess.CLEAR_MARGIN:
        return list(lines)
    found = [line for line in lines if _is_vietnamese(line.text)]
    return found if sum(len(line.text) for line in found) >= MIN_SHARE * len(text) else []


def _is_vietnamese(text: str) -> bool:
    letters = sum(character.isalpha() for character in text)
    return letters >= GUESS_LETTERS and guess.margin_of(text, packs.VIETNAMESE) >= VIETNAMESE_MARGIN


def _best_pack(doubtful: Sequence[Line], gray: Any, reader: ScriptReader) -> packs.Pack | None:
    """The language data that reads the widest of the lines best; None where none reads them well.

    A script that is clear from what it was misread as is not given up for one whose data is surer: of lines that were
    cut badly, Thai data made Thai words with a confidence of .7, the right data .65.
    """
    name, margin = _guess(doubtful)
    clear = name if margin >= guess.CLEAR_MARGIN else guess.LATIN
    ranks = [name for name, _ in guess.ranked(" ".join(line.text for line in doubtful))]
    candidates = sorted(
        reader.installed, key=lambda p: ranks.index(p.script.name) if p.script.name in ranks else len(ranks)
    )
    sample = sorted(doubtful, key=lambda line: -line.rect.width)[:TRIAL_LINES]
    best, most = None, MIN_TRIAL
    for pack in candidates[:MAX_TRIALS]:
        if best is not None and pack.script != best.script and (most >= SURE_TRIAL or best.script.name == clear):
            break
        readings = [reader.read_line(gray, _with_margin(line.rect), pack, line.size) for line in sample]
        unseen = (without_seen_words(read.text, line.text) for read, line in zip(readings, sample, strict=True))
        shares = [packs.share_in(text, pack.script) for text in unseen]
        fits = sorted((read.fit * share for read, share in zip(readings, shares, strict=True)), reverse=True)
        if fits and fits[:2][-1] > most:
            best, most = pack, fits[:2][-1]
    if best is None:  # the lines may have been cut badly: a clear guess is tried on their whole area
        best = next((pack for pack in candidates if pack.script.name == clear), None)
    return best


def _read_unmixed(gray: Any, reader: ScriptReader, pack: packs.Pack, size: float, line: Line) -> Line:
    return reader.read_line(gray, _with_margin(line.rect), pack, size, is_mixed=False)


def _read_alone(lines: list[Line], gray: Any, reader: ScriptReader, pack: packs.Pack) -> tuple[list[Line], list[Line]]:
    """The lines, each read by itself, that did not belong to the script and those that did."""
    others, read = lines[MAX_ALONE:], []
    for line in lines[:MAX_ALONE]:
        again = reader.read_line(gray, _with_margin(line.rect), pack, line.size)
        if _belongs(again, pack.script):
            read.append(replace(again, rect=line.rect, quad=line.quad))
        else:
            others.append(line)
    return others, read


def _belongs(line: Line, script: packs.Script) -> bool:
    return line.fit >= MIN_FIT and packs.share_in(line.text, script) >= MIN_OWN


def _is_covered(line: Line, others: Sequence[Line]) -> bool:
    return sum(line.rect.overlap(other.rect) for other in others) > COVERED * line.rect.area


def _with_margin(rect: Rect) -> Rect:
    margin = MARGIN * min(rect.width, rect.height)
    return Rect(rect.x1 - margin, rect.y1 - margin, rect.x2 + margin, rect.y2 + margin)


def _guess(doubtful: Sequence[Line]) -> tuple[str, float]:
    """The likeliest script of misread lines, and its margin over Latin. Korean is misread as Chinese: where that fits,
    it is Chinese."""
    name, margin = next(iter(guess.ranked(" ".join(line.text for line in doubtful))), (guess.LATIN, 0.0))
    letters = sum(len(line.text) for line in doubtful)
    fit = sum(line.fit * len(line.text) for line in doubtful) / max(1, letters)
    return (guess.LATIN, 0.0) if name == packs.KOREAN and fit >= KOREAN_FIT else (name, margin)


def _without_gibberish(
    doubtful: list[Line], kept: list[Line], reader: ScriptReader | None
) -> tuple[list[Line], list[tuple[str, str]]]:
    """All lines, without text where they are surely in a script that was not read; and what to tell about it."""
    name, margin = _guess(doubtful)
    letters = len(guess.counted(" ".join(line.text for line in doubtful)))
    if margin < guess.CLEAR_MARGIN or letters < MIN_HINT:
        return kept + doubtful, []
    is_installed = reader is not None and any(pack.script.name == name for pack in reader.installed)
    if letters < GUESS_LETTERS and letters * margin < SURE_EVIDENCE:
        told = [] if is_installed else [(name, _missing(name, "stands here misread", "text that may be in"))]
        return kept + doubtful, told
    if is_installed:
        blank = [_without_text(line) for line in doubtful]
        return kept + blank, [(name, f"some text in {name} script could not be read and was left out")]
    # Of some scripts the models know single letters: such lines fit, though letters are missing.
    script = packs.BY_NAME[name]
    known = [_without_text(line) if name != packs.VIETNAMESE and _belongs(line, script) else line for line in kept]
    return known + [_without_text(line) for line in doubtful], [(name, _missing(name, "was left out"))]


def _without_text(line: Line) -> Line:
    return replace(line, text="", words=(), letters=(), is_read=True)


def _missing(name: str, consequence: str, subject: str = "text in") -> str:
    return (
        f"{subject} {name} script cannot be read and {consequence}: the operator can install the extra 'ocr-scripts'"
        f" and the Debian package {packs.BY_NAME[name].package}"
    )
