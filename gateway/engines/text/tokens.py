"""Words of texts for ranking: tokens, stop words, a light stemmer, CJK bigrams. Pure and small, used on both sides."""

import re
import unicodedata

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
INSTRUCTION_WORDS = STOP_WORDS | frozenset(_INSTRUCTION.split())
_CAMEL_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_VOWEL_BEFORE = re.compile(r"[aeiouy]")


def fold(text: str) -> str:
    """Lower case, accents gone."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def terms(text: str, stop: frozenset[str] = STOP_WORDS) -> list[str]:
    """Stems of the words that carry meaning, CJK runs as bigrams; all words when only stop words are there."""
    folded = fold(text)
    words = [word.replace("’", "'").removesuffix("'s") for word in WORD.findall(folded)]
    kept = [word for word in words if word not in stop] or words
    out: list[str] = []
    for word in kept:
        if CJK.search(word):
            out += bigrams(word)
        else:
            out.append(stem(word))
    return out


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
    """Every two neighbouring CJK characters; a lone one stands alone."""
    out: list[str] = []
    for run in CJK.findall(text):
        out += [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]
    return out


def stem(word: str) -> str:
    """Strips common English endings: enough to match `crawling` with `crawled` and `caches` with `cache`."""
    if len(word) < 4 or not word.isascii():
        return word
    for ending, length in (
        ("ingly", 5),
        ("edly", 4),
        ("ing", 3),
        ("ies", 3),
        ("ed", 2),
        ("es", 2),
        ("ly", 2),
        ("s", 1),
    ):
        if word.endswith(ending) and len(word) - length >= 3 and _VOWEL_BEFORE.search(word[:-length]):
            if ending == "s" and word.endswith("ss"):
                return word
            base = word[:-length]
            if ending == "ies":
                return base + "i"
            if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "ls":
                return base[:-1]
            return base.rstrip("e")
    return word[:-1] + "i" if word.endswith("y") and len(word) > 4 else word.rstrip("e")
