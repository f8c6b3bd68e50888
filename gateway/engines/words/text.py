"""Words of a text for ranking: tokens, stop words, a light English stemmer, CJK bigrams.

Pure; used in the server and in the parsing processes. The search index stems with SQLite's own Porter stemmer instead.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence, Set

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?", re.UNICODE)
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")
_STOP = (
    "a about above after again all also am an and any are as at be because been before being below between both but "
    "by can could did do does doing down during each few for from further had has have having he her here hers him his "
    "how i if in into is it its itself just me more most my no nor not now of off on once only or other our ours out "
    "over own same she should so some such than that the their theirs them then there these they this those through to "
    "too under until up very was we were what when where which while who whom why will with would you your yours"
)
_INSTRUCTION = (
    "find get give show list only page pages about look looking looks extract crawl fetch return include including "
    "related relevant contain contains containing information info content contents section sections please want need "
    "everything anything something site website web documentation docs doc url urls link links all any text "
    "mention mentions mentioning describe describes describing explain explains explaining concerning"
)
STOP_WORDS = frozenset(_STOP.split())
"""English words that say nothing of a text's subject."""
INSTRUCTION_WORDS = STOP_WORDS | frozenset(_INSTRUCTION.split())
"""Stop words, and words that say what to do with pages instead of which pages."""
_TOKENS_ENDINGS = ("ingly", "edly", "ing", "ies", "ed", "es", "ly", "s")
"""Endings that `stem` removes, longest first where one ends with another."""
_MIN_WORD_CHARS = 4
_MIN_STEM_CHARS = 3
"""Shortest word that is stemmed and shortest stem that remains."""
_CAMEL_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_PHRASES = re.compile("[\ufdfa\ufdfb]")
"""Letters that stand for a whole phrase of 18 and 8 letters. They name no subject, and a page of nothing else would
cost fifteen times as much as any other."""
_VOICING = "\u3099\u309a"
"""The marks that make other letters of kana (ha, ba, pa)."""
_VOWEL_BEFORE = re.compile(r"[aeiouy]")


def fold(text: str) -> str:
    """The text in lower case and without accents. Voiced kana and Hangul syllables stay letters of their own, and
    half-width kana are written as wide ones."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", _PHRASES.sub(" ", text.lower()))
    accents = set(filter(unicodedata.combining, set(decomposed))).difference(_VOICING)  # a text has few characters
    bare = decomposed.translate(dict.fromkeys(map(ord, accents))) if accents else decomposed
    return unicodedata.normalize("NFC", bare)


def words_of(text: str) -> list[str]:
    """The words of a text, folded: `["crawling", "the", "web's"]` of "Crawling the web's"."""
    return WORD.findall(fold(text))


def terms(text: str, stop: frozenset[str] = STOP_WORDS) -> list[str]:
    """Stems of the text's words without those in `stop`, CJK runs as bigrams; all words when there are no others."""
    words = [word.replace("’", "'").removesuffix("'s") for word in words_of(text)]
    stems: list[str] = []
    for word in [word for word in words if word not in stop] or words:
        if CJK.search(word):
            stems += bigrams(word)
        else:
            stems.append(stem(word))
    return stems


def terms_among(words: Iterable[str], wanted: Collection[str]) -> set[str]:
    """Those of `wanted` that are terms of a text with these `words_of`: `set(terms(text))` cut to `wanted`, at a third
    of its cost.

    Only words that may have such a stem are stemmed: a stem without its last letter begins its word (see `stem`).
    """
    if any(CJK.search(each) for each in wanted):
        return set(terms(" ".join(words))).intersection(wanted)
    bare = {word if word.isalnum() else word.replace("’", "'").removesuffix("'s") for word in set(words)}
    beginnings = tuple(each[:-1] for each in wanted)
    kept = [word for word in bare - STOP_WORDS or bare if word.startswith(beginnings)]
    return {stem(word) for word in kept if not CJK.search(word)}.intersection(wanted)


def name_parts(name: str) -> list[str]:
    """The parts of a name in camel case (`getElementById`: get, Element, By, Id); none for any other word."""
    if name.islower() or name.isupper() or name[1:].islower() or not name.isascii():
        return []
    parts = [part for part in _CAMEL_JOINT.split(name) if part]
    return parts if len(parts) > 1 else []


def joined_name_parts(text: str) -> str:
    """The parts of every name in camel case in a text, each name once: indexed beside the text itself."""
    names = dict.fromkeys(_ASCII_WORD.findall(text))
    return " ".join(part for name in names for part in name_parts(name))


def bigrams(text: str) -> list[str]:
    """Every two neighbouring CJK characters of the text; a single one by itself."""
    pairs: list[str] = []
    for run in CJK.findall(text):
        pairs += [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
    return pairs


def stem(word: str) -> str:
    """The word without common English endings, so that `crawling` equals `crawled` and `caches` equals `cache`."""
    if len(word) < _MIN_WORD_CHARS or not word.isascii():
        return word
    for ending in _TOKENS_ENDINGS:
        length = len(ending)
        if word.endswith(ending) and len(word) - length >= _MIN_STEM_CHARS and _VOWEL_BEFORE.search(word[:-length]):
            if ending == "s" and word.endswith("ss"):
                return word
            base = word[:-length]
            if ending == "ies":
                return base + "i"
            if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "ls":
                return base[:-1]
            return base.rstrip("e")
    return word[:-1] + "i" if word.endswith("y") and len(word) > 4 else word.rstrip("e")


_LEAST_CHARS = 3
_LONG_WORDS, _MIXED_WORDS = 2, 3
"""A query is in a language when it has two of its telling words of three letters or more, or one such and two shorter
ones."""

_TELLING = {
    "de": "der das und ist ich nicht ein eine einen einem einer eines wie wird werden kann mit von zum zur auf bei fur "
    "im dem den sich sie mein meine aus nach uber unter wenn warum welche welcher welches haben sind wurde oder aber "
    "auch noch nur vom gibt muss soll ohne durch wir wo wer zu es um",
    "fr": "une des pas que qui quoi pourquoi quand dans avec mes ses cette ces elle nous vous ils aux sont etre faire "
    "peut quel quelle le la les un du de et je ne ma sa ce il au en se ou",
    "es": "una unos como para cuando donde porque este esta puedo hacer las los por que el lo al es mi su se y de la",
    "it": "gli che della delle dei nel sono perche quando dove posso questo questa una di il lo un si la le",
    "pt": "uma nao sao quando onde fazer este esta para que um os do da em na de",
    "nl": "het een van niet hoe wat waar wie zijn voor naar uit bij aan dat wordt worden mijn de en ik op te er",
}
"""Folded (`fold`). None of three letters and more is a usual English word."""
_FURTHER = {
    "de": "die man hat war am an du ihr was so in des",
    "fr": "comment pour sans est par sur son mon on plus a l d",
    "es": "con sin sus del son mas no en a",
    "it": "come per con non fare piu del al senza mio e",
    "pt": "com por as dos das mais sem meu no o e a",
    "nl": "die is kan met om",
}
"""Those that are English words or names as well: stop words once a query is known to be in the language."""
_LANGUAGES = tuple(
    (frozenset(words.split()), frozenset(_FURTHER[language].split())) for language, words in _TELLING.items()
)


def foreign_stop_words(words: Sequence[str]) -> frozenset[str]:
    """The stop words of the languages, other than English, that a query of these folded words may be in."""
    present = set(words)
    found: frozenset[str] = frozenset()
    for telling, further in _LANGUAGES:
        own = present & telling
        long = sum(len(word) >= _LEAST_CHARS for word in own)
        if long >= _LONG_WORDS or (long and len(own) >= _MIXED_WORDS):
            found |= telling | further
    return found


def likeliest_stop_words(words: Set[str]) -> frozenset[str]:
    """The stop words of the language, other than English, of which a text with these folded words has most."""
    return max((telling | further for telling, further in _LANGUAGES), key=lambda each: len(each & words))


MARK = "\ue000"
"""Ends each stem: a character that no word of a text has, so that a stem is never taken for a word. A letter for
SQLite's tokenizer, as all of the private use area is."""
_LEAST_STEM_CHARS, _LEAST_LATIN_CHARS = 4, 5
"""Shortest stem that is left, and that of a word in Latin letters, since the endings of its language are not told from
those of the others."""
_LEAST_WORD_CHARS, _MOST_WORD_CHARS = 4, 40
"""Shortest and longest word that has a stem."""
_FOREIGN_STEMS_ENDINGS = {
    "cyrillic": "ениями ениях ением ения ение ению ений остями остях ости остью ость иями иях ием иям ями ами ях ах ям "
    "ам его ого ему ому ыми ими ией ей ой ий ый ев ов их ых ем ом им ым ая яя ою ею ую юю ое ее ые ие ия ию ии ья ью "
    "ье ьи ать ять ить еть уть ует ает яет ит ят ет ут ют ал ял ил ла ло ли а е и й о у ы ь ю я і ї є",
    "greek": "ματος ματων ματα εων εις ους ου ος ον οι ων ης ες ας α η ι ο ω υ ς",
    "latin": "ungen ung keiten keit heiten heit en er em es os as ar ir e n s o a i",
}
_BY_LETTERS = {
    script: sorted({fold(ending) for ending in endings.split()}, key=len, reverse=True)
    for script, endings in _FOREIGN_STEMS_ENDINGS.items()
}
_CYRILLIC = re.compile(r"[\u0400-\u052f]")
_GREEK = re.compile(r"[\u0370-\u03ff]")
_OTHER_LETTERS = re.compile(r"[\u0370-\u03ff\u0400-\u052f]")
_TOLD_CHARS = 600
"""How many characters of a text `text_stems` reads to tell its language."""
_LEAST_STOPS = 3
"""How many different stop words of a language a text must have."""
_TIMES_ENGLISH = 2
"""A foreign text must have more than so many times as many of them as English stop words."""


def stem_of(word: str) -> str:
    """The stem of a folded word (`fold`), followed by MARK; empty for a short or very long word."""
    if not _LEAST_WORD_CHARS <= len(word) <= _MOST_WORD_CHARS:
        return ""
    script = "cyrillic" if _CYRILLIC.match(word) else "greek" if _GREEK.match(word) else "latin"
    least = _LEAST_LATIN_CHARS if script == "latin" else _LEAST_STEM_CHARS
    while True:
        for ending in _BY_LETTERS[script]:
            if word.endswith(ending) and len(word) - len(ending) >= least:
                word = word[: -len(ending)]
                break
        else:
            return word + MARK


def text_stems(folded: str) -> list[str]:
    """The stems of a text's words. The text is folded (`fold`).

    A text that `is_foreign` has stems of all its words; any other text has stems of its Cyrillic and Greek words.
    """
    is_whole = is_foreign(WORD.findall(folded[:_TOLD_CHARS]))
    if not is_whole and (folded.isascii() or not _OTHER_LETTERS.search(folded)):
        return []
    return _stems(word for word in WORD.findall(folded) if is_whole or _OTHER_LETTERS.match(word))


def is_foreign(words: Sequence[str]) -> bool:
    """Whether a text with these folded words has the stop words of a language other than English."""
    present = set(words)
    foreign = len(present & likeliest_stop_words(present))
    return foreign >= _LEAST_STOPS and foreign > _TIMES_ENGLISH * len(present & STOP_WORDS)


def query_stems(words: Iterable[str], latin: Collection[str]) -> tuple[str, ...]:
    """The stems of a query's Cyrillic and Greek words and of its words in `latin`, each stem once. `latin`: words in
    Latin letters that may be of a language other than English."""
    wanted = [word for word in words if word.isalpha() and (word in latin or _OTHER_LETTERS.match(word))]
    return tuple(dict.fromkeys(_stems(wanted)))


def has_stem(words: Iterable[str], stem: str) -> bool:
    """Whether one of the folded words has the stem."""
    return any(word.startswith(stem[:-1]) and stem_of(word) == stem for word in words)


def _stems(words: Iterable[str]) -> list[str]:
    return [stem for word in words if (stem := stem_of(word))]


_K1 = 1.2
_B = 0.75
"""BM25's saturation and length normalisation: the usual defaults (Lucene, SQLite FTS5), not tuned here."""
_HEADING_WEIGHT = 0.5
"""Share of a term's weight that a heading adds."""


def rarity(bags: list[Counter[str]], wanted: Iterable[str]) -> dict[str, float]:
    """The weight of each wanted term: the fewer of the bags (the words of one text each) hold it, the more."""
    weights = {}
    for term in wanted:
        matches = sum(1 for bag in bags if term in bag)
        weights[term] = math.log(1 + (len(bags) - matches + 0.5) / (matches + 0.5))
    return weights


def scores(bags: list[Counter[str]], weights: Mapping[str, float]) -> list[float]:
    """The BM25 score of each bag for the weighted terms; 0 for one that holds none."""
    sizes = [sum(bag.values()) for bag in bags]
    mean = max(sum(sizes) / len(sizes), 1.0) if sizes else 1.0
    return [
        sum(
            weight * bag[term] * (_K1 + 1) / (bag[term] + _K1 * (1 - _B + _B * size / mean))
            for term, weight in weights.items()
            if term in bag
        )
        for bag, size in zip(bags, sizes, strict=True)
    ]


def bm25(texts: list[str], query: str, headings: list[str] | None = None) -> list[float]:
    """One BM25 score per text. A query term in the text's heading adds `_HEADING_WEIGHT` of the term's weight."""
    bags = [Counter(terms(text)) for text in texts]
    weights = rarity(bags, set(terms(query)))
    found = scores(bags, weights)
    if headings is None:
        return found
    named = [weights.keys() & set(terms(heading)) for heading in headings]
    return [
        score + _HEADING_WEIGHT * sum(weights[term] for term in words)
        for score, words in zip(found, named, strict=True)
    ]


_WORD = re.compile(r"\w+")
_UNPARTED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Runs of Thai, Lao, Burmese, Khmer, kana and Chinese characters."""
_CHARS_A_WORD = 2
"""Letters of such a run that count as a word: the usual length of Chinese and Japanese words."""


def unparted_words(text: str) -> int:
    """Words of runs in scripts without blanks, beyond the one as which each run counts."""
    if text.isascii():
        return 0
    return sum(len(run) // _CHARS_A_WORD - 1 for run in _UNPARTED.findall(text) if len(run) > _CHARS_A_WORD)


def count_words(text: str, most: int) -> int:
    """Words of a text, counted no further than `most`."""
    count = 0
    for count, _ in enumerate(_WORD.finditer(text), 1):
        if count >= most:
            return count
    return min(most, count + unparted_words(text))


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
"""Characters without an invisible one, or runs of them, that are read in one step."""
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


MAX_HIDDEN_SHARE = 0.3
"""Share of the text that rules about looks may leave out. The issue's own value: pages that hide all until a script has
run, and documents whose backgrounds are known by what is not read, would come back empty."""


def hides_too_much(hidden_chars: int, total_chars: int) -> bool:
    """Whether so much of a text would be left out that it is kept, and the note says so."""
    return hidden_chars > MAX_HIDDEN_SHARE * total_chars
