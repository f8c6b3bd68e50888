"""Finds values that the name beside them makes a secret: `password: …`, `api_key = …`, `user:pass@host`.

This module finds names and goes from them to values; `secret_names` says what a name means, `secret_values` judges the
values. `syntax_secrets` finds those that other syntax than a name makes secrets.
"""

import re
from collections.abc import Iterator, Mapping

from gateway.sanitize.detectors.name_patterns import ANY_NAME, ASSIGNED, NAMED, PROSE
from gateway.sanitize.detectors.published_examples import is_published_login
from gateway.sanitize.detectors.secret_names import Namings
from gateway.sanitize.detectors.secret_spans import judged, may_be_special, special_secret
from gateway.sanitize.detectors.secret_values import Naming, is_placeholder, quote_before, value_at
from gateway.sanitize.detectors.value_forms import is_identifier, is_leet_password_word, is_password_word, is_random
from gateway.sanitize.text import Finding, View, WorkBudget, searcher

_FIND_NAME = searcher(NAMED)
_NOTHING: Mapping[int, int] = {}
_CHANGED = (b'" -> "', b"' -> '", b'" => "', b"' => '")
_SENTENCE_GOES_ON = frozenset((b" ", b",", b";", b".", b"'", b'"', b"`", b")"))
_NEXT_WORDS = re.compile(
    rb"[\"'`)]?[,;.]?(?: (?!is |ist |es )[A-Za-z\x02][a-z\x02]{0,13}(?=[ :'])){1,7}"
    rb"(?:'s| is| ist| es| est| e|:| -| =| to)? "
    rb"[\"'`]?(?=[!-~]{8,160}(?:[\s,]|\Z))"
)
"""What leads from a password to another one in its sentence: `… and the new one is`, `, prod`, `to`."""
_MAX_IN_SENTENCE = 4
"""Chosen: further passwords of one sentence. At half a list of four servers is cut, at double nothing more is found."""
_PAIRED = Naming(strong=True, proves=True, link="paired", quote=b"")
_CHANGED_CHARS = 6
"""Length of the arrow, with its quotation marks, between the old and the new value in plans of Terraform and Pulumi."""
_WORD_GOES_ON = frozenset(bytes([code]) for code in b"abcdefghijklmnopqrtuvwxyz")
"""Behind a name: the letters of a longer word (`keyboard`), to which ASSIGNED leads never; `s` may be a plural."""
_USERINFO = re.compile(
    rb"://(?<=[a-zA-Z0-9+.-]://)(?:[^\s/@:?#\"'<>]{0,128}:([^\s/@\"'<>]{3,256})|([^\s/@:?#\"'<>]{20,256}))@"
)


def find_named_secrets(view: View, budget: WorkBudget, known: Mapping[int, int] = _NOTHING) -> Iterator[Finding]:
    """Findings of the entity SECRET over the values, not their names, in folded offsets. Raises BudgetExceeded.

    `known`: [start, end) of values that are secrets for certain, whatever their name says; they are not judged again,
    which costs more than to find them.
    """
    text = view.folded
    namings, at = Namings(text, budget), 0
    while True:
        start, at = _FIND_NAME(text, at)
        if start < 0:
            break
        name_end = at
        if PROSE.match(text, at) is not None:
            budget.spend(4)
            continue
        budget.spend(8)
        assigned = None if _goes_on(text, at) else ASSIGNED.match(text, at)
        if assigned is None:
            name = ANY_NAME.match(text, start + 1)  # RE2 may have matched a name that began a character earlier
            is_word = name is None or _goes_on(text, name.end())
            assigned = None if name is None or is_word else ASSIGNED.match(text, name.end())
            if name is None or assigned is None:
                at -= text.startswith(b"pass", at)  # the next name may begin with this one's last letter: `keypass`
                continue
            start, name_end = start + 1, name.end()
        at = end = assigned.end()
        quote = quote_before(text, end)
        value = value_at(text, end, quote)
        if value is None:
            if not may_be_special(text, end, quote):
                at = name_end  # the words between may be a name: `secret key is x`
                continue
            value = b""
        elif known.get(end) == end + len(value) or _is_part_of_name(text, start, end, value):
            continue
        naming = namings.of(start, name_end, assigned, (quote, value))
        if naming is None:
            continue
        finding = judged(text, end, value, naming, budget) if value else special_secret(text, end, naming, budget)
        if finding is not None and not (quote == b"" and _is_sibling(text, start, name_end, finding)):
            yield finding
            yield from _behind(text, finding.end, naming, quote, budget)
    if b"://" in text and b"@" in text:
        yield from _find_in_urls(text, budget)


def _behind(text: bytes, at: int, naming: Naming, quote: bytes, budget: WorkBudget) -> Iterator[Finding]:
    """The values that follow one that ends at `at` by the same name: in its sentence, or behind the arrow of a plan."""
    if naming.strong and text[at : at + 1] in _SENTENCE_GOES_ON:
        yield from _in_same_sentence(text, at, budget)
    if text.startswith(_CHANGED, at):
        changed = at + _CHANGED_CHARS
        following = value_at(text, changed, quote)
        finding = judged(text, changed, following, naming, budget) if following else None
        if finding is not None:
            yield finding


def _in_same_sentence(text: bytes, at: int, budget: WorkBudget) -> Iterator[Finding]:
    """The passwords behind one that ends at `at`: `the old password was X and the new one is Y`."""
    for _ in range(_MAX_IN_SENTENCE):
        budget.spend(6)
        words = _NEXT_WORDS.match(text, at)
        if words is None:
            return
        quote = quote_before(text, words.end())
        value = value_at(text, words.end(), quote)
        finding = judged(text, words.end(), value, _PAIRED._replace(quote=quote), budget) if value else None
        if finding is None:
            return
        yield finding
        at = finding.end


def _goes_on(text: bytes, at: int) -> bool:
    """Whether a longer word goes on at `at` (`keyboard`, `passes`), to which ASSIGNED never leads."""
    char = text[at : at + 1]
    return char in _WORD_GOES_ON or (char == b"s" and text[at + 1 : at + 2] in _WORD_GOES_ON)


def _is_sibling(text: bytes, start: int, name_end: int, finding: Finding) -> bool:
    """Whether the value is a name of a program that begins like the name before it, as in lists of constants: `vbKeyL
    vbKeyLButton`."""
    value = text[finding.start : finding.end]
    if not _CONSTANT.fullmatch(value):
        return False
    word = _WORD_BEFORE.search(text, max(0, start - 40), name_end)
    return word is not None and word.group().startswith(value[:_MIN_FAMILY_CHARS])


_CONSTANT = re.compile(rb"[A-Za-z_*]{8,}+")
_WORD_BEFORE = re.compile(rb"(?<![A-Za-z0-9_])[A-Za-z0-9_]{1,60}\Z")
_MIN_FAMILY_CHARS = 3
"""Chosen: the letters by which a library's names begin (`Xkb`). At half names without one would count, at double few
libraries have as many."""


def _is_part_of_name(text: bytes, start: int, end: int, value: bytes) -> bool:
    """Whether `name:value` is a member of a class (`SignKeyJob::start`), a type (`"AWS::KMS::Key": "x"`), a name
    within a resource's name (`arn:aws:secretsmanager:…:secret:name-3QNDmM`), or the verdict and the name of a test
    (`PASS: ld/pr18801a`)."""
    if b"::" in text[max(0, start - 40) : start] and _TYPE.search(text, max(0, start - 100), start + 1):
        return True
    if text[end - 1 : end] == b":" and (
        value[:1] == b":" or (text[start - 1 : start] == b":" and _RESOURCE.search(text, max(0, start - 100), start))
    ):
        return True
    return text.startswith(b"PASS: ", end - 6) and not text[end - 7 : end - 6].strip() and b"/" in value


_TYPE = re.compile(rb"[\"'][A-Za-z0-9]{1,40}::(?:[A-Za-z0-9]{1,40}::){1,3}[A-Za-z0-9]{0,40}\Z")
_RESOURCE = re.compile(rb"\b[au]rn:[\w:/.-]{0,100}\Z")


def _find_in_urls(text: bytes, budget: WorkBudget) -> Iterator[Finding]:
    """Passwords, and long user names (tokens), before the `@` of web addresses."""
    for match in _USERINFO.finditer(text):
        budget.spend(16)
        group = 1 if match.group(1) is not None else 2
        password, user = match.group(group), text[match.start() + 3 : match.start(group) - 1].strip(b":")
        lower = password.lower()
        if is_placeholder(lower) or is_password_word(password.partition(b";")[0]) or lower == user.lower():
            continue
        if group == 1 and is_published_login(user, password):
            continue
        certain = len(password) >= _MIN_URL_CHARS and _is_no_word(_ESCAPE.sub(b"-", password))
        yield Finding(match.start(group), match.end(group), "SECRET", certain)


def _is_no_word(password: bytes) -> bool:
    """Whether a password is more than words, or words and a number: the examples of every manual have those."""
    if is_random(password):
        return True
    if password.isalpha() or is_identifier(password) or is_leet_password_word(password):
        return False
    return password != password.lower() or password.translate(None, b"0123456789") != password


_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_MIN_URL_CHARS = 6
"""Chosen: shorter passwords in a web address are mostly examples (`user:pw@`), and only likely. At half `pw1` counts as
certain; at double true passwords of ten characters are only flagged in answers."""
