"""Reads again what the first reader does not know: lines in other scripts, by region, with the installed language data.

The first reader knows Latin, Chinese and Japanese letters and takes others for these. Lines that its text explains
badly are doubtful. While there are enough of them, the widest are read by each script's data, the likeliest first
(`guess`); the best reading decides, and the area of the doubtful lines is read with it. What is left and clearly in a
script without data loses its text, which would be invented, and is named.
"""

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

from gateway.geometry.boxes import Line, Rect, hull
from gateway.ocr.scripts.tesseract import BY_NAME, KOREAN, VIETNAMESE, Pack, Script, Tesseract, share_in, words_of

# Likeness (of SequenceMatcher) from which the first reader saw a word too. `oftice` is .83 like `office`, and of
# three letters one may be misread.
LATIN_WORD = re.compile(r"[A-Za-z]+")
SEEN = 0.6
# Lines read once more, at 0.02 to 0.1 s each; as mixed.MAX_ALONE.
MAX_AGAIN = 24


def without_invented_words(lines: Sequence[Line], seen: Sequence[Line], read: Callable[[Line], Line]) -> list[Line]:
    """The lines, in which words that nobody saw are replaced. `seen`: the page's lines by the first reader; `read`:
    reads a line by the data of its script alone."""
    found, left = list[Line](), MAX_AGAIN
    for line in lines:
        beside = " ".join(other.text for other in seen if other.rect.overlap(line.rect) > 0)
        words = line.text.split()
        invented = [word for word in words if _is_invented(word, beside)]
        if invented and left:
            left -= 1
            again = read(line)
            text = _with_words_of(words, again.text.split(), set(invented)) if again.fit > line.fit else line.text
            line = line if text == line.text else replace(line, text=text, words=words_of(text, line.rect))
        found.append(line)
    return found


def without_seen_words(text: str, seen: str) -> str:
    """A line's text without the Latin words that the first reader saw there too: they tell nothing of its script."""
    return " ".join(word for word in text.split() if _is_other(word) or _is_invented(word, seen))


def _is_invented(word: str, beside: str) -> bool:
    """Whether a word has Latin letters of which there are none alike in the text beside."""
    parts = LATIN_WORD.findall(word)
    candidates = LATIN_WORD.findall(beside.casefold())
    return any(not _is_seen(part.casefold(), candidates) for part in parts)


def _is_seen(part: str, candidates: Sequence[str]) -> bool:
    return any(SequenceMatcher(None, part, other, autojunk=False).ratio() >= SEEN for other in candidates)


def _with_words_of(words: list[str], others: list[str], invented: set[str]) -> str:
    """The words; an invented one is replaced by the word at its place in the other reading, if that is not Latin."""
    text: list[str] = []
    for kind, first, last, start, end in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        mine, theirs = words[first:last], others[start:end]
        if kind != "replace":
            text += mine
        elif len(mine) == len(theirs):
            text += [new if old in invented and _is_other(new) else old for old, new in zip(mine, theirs, strict=True)]
        else:
            are_all = all(word in invented for word in mine if not _is_other(word))
            text += theirs if are_all and invented & set(mine) and all(map(_is_other, theirs)) else mine
    return " ".join(text)


def _is_other(word: str) -> bool:
    return LATIN_WORD.search(word) is None


# `{script: {character: share}}`, Latin among them.
MODEL_FILE = Path(__file__).with_name("misreadings.json")
# Stands for a character that was not seen in a script. below the rarest share in the file.
LATIN = "Latin"
UNSEEN_SHARE = 0.0003
# A guess is clear when each of its characters is likelier by this much (natural logarithm) than in misread Latin
# letters. Measured on the pages described in bench/train_scripts.py, each language left out of its own training:
# Latin pages, misread ones too, stay below -.05, others are above .2 (most above 1).
CLEAR_MARGIN = 0.15


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


# Fit below which a line is doubtful. Measured on the pages described in bench/train_scripts.py: nine in ten lines in
# Latin letters, sharp ones, are above, nine in ten of other scripts below.
DOUBTFUL_FIT = 0.93
# Fewer characters in doubtful lines, or a smaller share of those looked at, are formulas, marks, worn words.
MIN_LETTERS, MIN_SHARE = 10, 0.08
# Characters from which a guess is trusted to take a text away.
GUESS_LETTERS = 30
# A shorter text is taken away if all its characters together are likelier by this much (natural logarithm). twenty
# Korean letters give 47, one misread heading in Cyrillic letters 4.
SURE_EVIDENCE = 20.0
# Characters, without digits, from which a script is named, the text kept. two words.
MIN_HINT = 8
# Fit, the mean over letters, from which lines read as Chinese are Chinese. Measured on 12 blurred and sharp pages
# each: Korean ones reach .58, Chinese and Japanese ones have .67 and more.
KOREAN_FIT = 0.63
# Characters for each line height of width below which a line is doubtful however well they fit: of letters that look
# like none it knows, the first reader gives the full stops alone. text in Latin letters has two, wide rows of
# headings one half.
SPARSE = 0.2
# A line of GUESS_LETTERS letters is Vietnamese from this margin on (`margin_of`). Measured on 412,000 messages
# of programs, as written: five in other languages with Latin letters are above (Irish and Navajo), three in four
# Vietnamese; misread ones more.
VIETNAMESE_MARGIN = 0.3
# Lines read by each script's data in a trial, of which the second best counts, and packs tried. a trial of a line
# takes 0.02 to 0.1 s.
TRIAL_LINES, MAX_TRIALS = 3, 8
# Least confidence times the share of letters that are of the script. Measured: the right data reaches .7 and more,
# wrong data .4 at most.
MIN_TRIAL = 0.55
# From it on no other script is tried.
SURE_TRIAL = 0.75
# A line is taken over with this confidence and this share of letters of the script; others keep the first reading.
MIN_FIT, MIN_OWN = 0.4, 0.3
# Lines that the reading of the area missed and that are read one by one, at 0.02 to 0.1 s each. labels and single
# words.
MAX_ALONE = 24
# The share of a line's area inside a line that replaces it.
COVERED = 0.3
# Scripts on one page beside those that the first reader knows. Each round reads an area.
MAX_ROUNDS = 3
# Margin around lines, in their heights: marks above and below letters.
MARGIN = 0.35
# Lines by which a page is judged before all of it is read, spread over the page. of a page of 40 lines a paragraph
# of five is met nine times in ten.
SAMPLE_LINES = 12
# Confidence of Vietnamese lines as the first reader reads them, which leaves letters out without noticing.
LACKING_FIT = 0.5


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


def resolve(lines: list[Line], gray: Any, reader: Tesseract | None) -> Resolved:
    """The lines of a suspect page, all read by the first reader. `gray`: the page, 8 bits, dark on light."""
    vietnamese = _vietnamese(lines)
    doubtful = vietnamese or [line for line in lines if _is_doubtful(line)]
    chosen = {id(line) for line in doubtful}
    kept = [line for line in lines if id(line) not in chosen]
    for _ in range(MAX_ROUNDS):
        pack = _best_pack(doubtful, gray, reader) if reader is not None else None
        if reader is None or pack is None:
            break
        # Of some scripts the models know single letters: such lines fit, though letters are missing.
        known = [line for line in kept if line in lines and _is_of(line, pack.script)]
        kept, doubtful = [line for line in kept if line not in known], doubtful + known
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
        return Resolved(_in_order(kept + lacking), [(VIETNAMESE, _missing(VIETNAMESE, "is missing letters"))])
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
    is_clear = len(text) >= GUESS_LETTERS and clear_guess(text) == VIETNAMESE
    if is_clear and margin_of(text, VIETNAMESE) >= CLEAR_MARGIN:
        return list(lines)
    found = [line for line in lines if _is_vietnamese(line.text)]
    return found if sum(len(line.text) for line in found) >= MIN_SHARE * len(text) else []


def _is_vietnamese(text: str) -> bool:
    letters = sum(character.isalpha() for character in text)
    return letters >= GUESS_LETTERS and margin_of(text, VIETNAMESE) >= VIETNAMESE_MARGIN


def _best_pack(doubtful: Sequence[Line], gray: Any, reader: Tesseract) -> Pack | None:
    """The language data that reads the widest of the lines best; None where none reads them well.

    A script that is clear from what it was misread as is not given up for one whose data is surer: of lines that were
    cut badly, Thai data made Thai words with a confidence of .7, the right data .65.
    """
    name, margin = _guess(doubtful)
    clear = name if margin >= CLEAR_MARGIN else LATIN
    ranks = [name for name, _ in ranked(" ".join(line.text for line in doubtful))]
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
        shares = [share_in(text, pack.script) for text in unseen]
        fits = sorted((read.fit * share for read, share in zip(readings, shares, strict=True)), reverse=True)
        if fits and fits[:2][-1] > most:
            best, most = pack, fits[:2][-1]
    if best is None:  # the lines may have been cut badly: a clear guess is tried on their whole area
        best = next((pack for pack in candidates if pack.script.name == clear), None)
    return best


def _read_unmixed(gray: Any, reader: Tesseract, pack: Pack, size: float, line: Line) -> Line:
    return reader.read_line(gray, _with_margin(line.rect), pack, size, is_mixed=False)


def _read_alone(lines: list[Line], gray: Any, reader: Tesseract, pack: Pack) -> tuple[list[Line], list[Line]]:
    """The lines, each read by itself, that did not belong to the script and those that did."""
    others, read = lines[MAX_ALONE:], []
    for line in lines[:MAX_ALONE]:
        again = reader.read_line(gray, _with_margin(line.rect), pack, line.size)
        if _belongs(again, pack.script):
            read.append(replace(again, rect=line.rect, quad=line.quad))
        else:
            others.append(line)
    return others, read


def _belongs(line: Line, script: Script) -> bool:
    return line.fit >= MIN_FIT and share_in(line.text, script) >= MIN_OWN


def _is_of(line: Line, script: Script) -> bool:
    """Whether a line of the first reader is surely in a script of which it knows single letters."""
    return script.name != VIETNAMESE and _belongs(line, script)


def _is_covered(line: Line, others: Sequence[Line]) -> bool:
    return sum(line.rect.overlap(other.rect) for other in others) > COVERED * line.rect.area


def _with_margin(rect: Rect) -> Rect:
    margin = MARGIN * min(rect.width, rect.height)
    return Rect(rect.x1 - margin, rect.y1 - margin, rect.x2 + margin, rect.y2 + margin)


def _guess(doubtful: Sequence[Line]) -> tuple[str, float]:
    """The likeliest script of misread lines, and its margin over Latin. Korean is misread as Chinese: where that fits,
    it is Chinese."""
    name, margin = next(iter(ranked(" ".join(line.text for line in doubtful))), (LATIN, 0.0))
    letters = sum(len(line.text) for line in doubtful)
    fit = sum(line.fit * len(line.text) for line in doubtful) / max(1, letters)
    return (LATIN, 0.0) if name == KOREAN and fit >= KOREAN_FIT else (name, margin)


def _without_gibberish(
    doubtful: list[Line], kept: list[Line], reader: Tesseract | None
) -> tuple[list[Line], list[tuple[str, str]]]:
    """All lines, without text where they are surely in a script that was not read; and what to tell about it."""
    name, margin = _guess(doubtful)
    letters = len(counted(" ".join(line.text for line in doubtful)))
    if margin < CLEAR_MARGIN or letters < MIN_HINT:
        return kept + doubtful, []
    is_installed = reader is not None and any(pack.script.name == name for pack in reader.installed)
    if letters < GUESS_LETTERS and letters * margin < SURE_EVIDENCE:
        told = [] if is_installed else [(name, _missing(name, "stands here misread", "text that may be in"))]
        return kept + doubtful, told
    if is_installed:
        blank = [_without_text(line) for line in doubtful]
        return kept + blank, [(name, f"some text in {name} script could not be read and was left out")]
    known = [_without_text(line) if _is_of(line, BY_NAME[name]) else line for line in kept]
    return known + [_without_text(line) for line in doubtful], [(name, _missing(name, "was left out"))]


def _without_text(line: Line) -> Line:
    return replace(line, text="", words=(), letters=(), is_read=True)


def _missing(name: str, consequence: str, subject: str = "text in") -> str:
    return (
        f"{subject} {name} script cannot be read and {consequence}: the operator can install the extra 'ocr-scripts'"
        f" and the Debian package {BY_NAME[name].package}"
    )
