"""The fixed beginnings of a key's form: `gh[op]_[A-Z]{36}` begins with `gho_` or `ghp_`. Pure.

Reads the small part of the regular expression language that the table of forms is written in, and stops, with what it
has, at the first thing that has no fixed spelling.
"""

_MOST_HEADS = 64
_MOST_CHOICES = 8
_LONGEST = 8


def heads(form: str) -> list[str]:
    """Every spelling that a match of the form can begin with, as far as it is fixed; `[""]` when nothing is."""
    return [head for head, _ in _read(form)]


def _read(form: str) -> list[tuple[str, bool]]:
    """(spelling, whether it goes on to the form's end) of each alternative."""
    found: list[tuple[str, bool]] = []
    for alternative in alternatives(form):
        found += _read_sequence(alternative)
    return found


def _read_sequence(form: str) -> list[tuple[str, bool]]:
    known, open_heads = [""], True
    closed: list[str] = []
    at = 0
    while at < len(form) and open_heads:
        choices, at = _atom(form, at)
        optional = form[at : at + 1] == "?"
        repeated = form[at : at + 1] in ("*", "+", "{")
        if choices is None or repeated or len(known) * len(choices) > _MOST_HEADS:
            open_heads = False
            break
        at += optional
        grown = [(head + choice, whole) for head in known for choice, whole in choices]
        closed += [head for head, whole in grown if not whole or len(head) >= _LONGEST]
        known = [head for head, whole in grown if whole and len(head) < _LONGEST] + (known if optional else [])
        open_heads = bool(known)
    return [(head, False) for head in closed] + [(head, open_heads) for head in known]


def _atom(form: str, at: int) -> tuple[list[tuple[str, bool]] | None, int]:
    """What stands at `at`: its spellings (None when they are too many to list), and where it ends."""
    char = form[at]
    if char == "\\":
        fixed = not form[at + 1].isalnum()
        return ([(form[at + 1], True)] if fixed else None), at + 2
    if char == "[":
        end = form.index("]", at)
        chars = form[at + 1 : end]
        listed = "-" not in chars and len(chars) <= _MOST_CHOICES
        return ([(each, True) for each in chars] if listed else None), end + 1
    if char == "(":
        end = _closing(form, at)
        return _read(form[at + 3 : end]), end + 1
    return ([(char, True)] if char not in ".^$" else None), at + 1


def _closing(form: str, at: int) -> int:
    depth = 0
    for place in _bare(form, at):
        depth += {"(": 1, ")": -1}.get(form[place], 0)
        if depth == 0:
            return place
    raise ValueError(form)


def _bare(form: str, at: int) -> list[int]:
    """Places from `at` on that are neither escaped nor inside a class."""
    places, inside = [], False
    while at < len(form):
        if form[at] == "\\":
            at += 2
            continue
        if not inside:
            places.append(at)
        inside = form[at] == "[" if not inside else form[at] != "]"
        at += 1
    return places


def alternatives(form: str) -> list[str]:
    """The alternatives of the outermost level."""
    parts, depth, begin = [], 0, 0
    for place in _bare(form, 0):
        depth += {"(": 1, ")": -1}.get(form[place], 0)
        if form[place] == "|" and depth == 0:
            parts.append(form[begin:place])
            begin = place + 1
    return [*parts, form[begin:]]
