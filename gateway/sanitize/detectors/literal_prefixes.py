"""The literal prefixes of a regular expression: those of `gh[op]_[A-Z]{36}` are `gho_` and `ghp_`. Pure.

Used to search a text for all prefixes at once and to match a pattern only where one is found. Naive form: search the
text for each pattern, which finds the same; a test compares them. Parses only the part of the regular expression
language that `vendor_tokens` uses, and ends a prefix at the first element that is not a fixed spelling.
"""

_MAX_PREFIXES = 64
"""Chosen: prefixes of one pattern; an element that would multiply them beyond this ends them. Few forms of the table
come near it; at half some prefixes would be shorter and match more often by chance, at double the automaton grows."""
_MAX_CHOICES = 8
"""Chosen: members of a character class that are listed as alternatives, for the same reason."""
_MAX_PREFIX_CHARS = 8
"""Chosen: longer prefixes are cut: eight characters are hardly ever met by chance, and more make a larger automaton."""


def literal_prefixes(form: str) -> list[str]:
    """The prefixes of which every match of the pattern `form` has one; `[""]` when it begins with no fixed spelling."""
    return [prefix for prefix, _ in _prefixes(form)]


def _prefixes(form: str) -> list[tuple[str, bool]]:
    """(prefix, whether it is the whole of the alternative) for each alternative of `form`."""
    prefixes: list[tuple[str, bool]] = []
    for alternative in alternatives(form):
        prefixes += _sequence_prefixes(alternative)
    return prefixes


def _sequence_prefixes(form: str) -> list[tuple[str, bool]]:
    """As `_prefixes`, for a pattern without alternatives on its outermost level."""
    growing, complete = [""], True
    ended: list[str] = []
    index = 0
    while index < len(form) and complete:
        choices, index = _element(form, index)
        optional = form[index : index + 1] == "?"
        repeated = form[index : index + 1] in ("*", "+", "{")
        if choices is None or repeated or len(growing) * len(choices) > _MAX_PREFIXES:
            complete = False
            break
        index += optional
        grown = [(prefix + choice, whole) for prefix in growing for choice, whole in choices]
        ended += [prefix for prefix, whole in grown if not whole or len(prefix) >= _MAX_PREFIX_CHARS]
        growing = [prefix for prefix, whole in grown if whole and len(prefix) < _MAX_PREFIX_CHARS] + (
            growing if optional else []
        )
        complete = bool(growing)
    return [(prefix, False) for prefix in ended] + [(prefix, complete) for prefix in growing]


def _element(form: str, index: int) -> tuple[list[tuple[str, bool]] | None, int]:
    """The spellings of the element at `index` (None when they cannot be listed) and where it ends."""
    char = form[index]
    if char == "\\":
        fixed = not form[index + 1].isalnum()
        return ([(form[index + 1], True)] if fixed else None), index + 2
    if char == "[":
        end = form.index("]", index)
        chars = form[index + 1 : end]
        can_list = "-" not in chars and len(chars) <= _MAX_CHOICES
        return ([(each, True) for each in chars] if can_list else None), end + 1
    if char == "(":
        end = _closing_bracket(form, index)
        return _prefixes(form[index + 3 : end]), end + 1
    return ([(char, True)] if char not in ".^$" else None), index + 1


def _closing_bracket(form: str, index: int) -> int:
    depth = 0
    for offset in _operator_indexes(form, index):
        depth += {"(": 1, ")": -1}.get(form[offset], 0)
        if depth == 0:
            return offset
    raise ValueError(f"no closing bracket in the pattern {form!r}")


def _operator_indexes(form: str, start: int) -> list[int]:
    """Indexes from `start` on whose characters are neither escaped nor inside a character class."""
    indexes, in_class = [], False
    while start < len(form):
        if form[start] == "\\":
            start += 2
            continue
        if not in_class:
            indexes.append(start)
        in_class = form[start] == "[" if not in_class else form[start] != "]"
        start += 1
    return indexes


def alternatives(form: str) -> list[str]:
    """The alternatives of the pattern's outermost level, in order."""
    parts, depth, begin = [], 0, 0
    for index in _operator_indexes(form, 0):
        depth += {"(": 1, ")": -1}.get(form[index], 0)
        if form[index] == "|" and depth == 0:
            parts.append(form[begin:index])
            begin = index + 1
    return [*parts, form[begin:]]
