"""Which model of the table a caller's name means: an exact name or alias, else the most exact one with a wildcard."""

import re
from collections.abc import Sequence
from dataclasses import replace

from gateway.errors import ModelNotFound
from gateway.key_scrubber import scrub_keys
from gateway.services.completion.attempts import ModelEntry

_SHOWN_CHARS = 80
"""Most characters of a model's name in an error text."""
_is_model_name = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}").fullmatch
"""Names that a wildcard takes: they go to an upstream, so nothing else may hide in them."""


class ModelNames:
    """The names of a table of models. `*` in a name or alias stands for any letters, none as well."""

    def __init__(self, models: Sequence[ModelEntry]) -> None:
        named = [(name, entry) for entry in models for name in (entry.name, *entry.aliases)]
        self._known = ", ".join(sorted(entry.name for entry in models))
        self.exact = dict(named)
        self._folded = {name.lower(): name for name in self.exact}
        self._wild = sorted((each for each in named if is_wild(each[0])), key=lambda each: -len(each[0]))

    def resolve(self, name: str) -> ModelEntry:
        """The entry of a name that is not `exact`: one with a wildcard, which knows how it was called. Raises
        ModelNotFound, with the right name if only the case differs."""
        if self._wild and _is_model_name(name):
            for wildcard, entry in self._wild:
                if takes(wildcard, name):
                    return replace(entry, called=name)
        similar = self._folded.get(name.lower())
        hint = (
            f"did you mean {similar!r}? Names are case-sensitive" if similar else f"available: {self._known or 'none'}"
        )
        raise ModelNotFound(f"model {scrub_keys(name[:_SHOWN_CHARS])!r} does not exist; {hint}")


def is_wild(name: str) -> bool:
    """Whether a configured name stands for several."""
    return "*" in name


def takes(wildcard: str, name: str) -> bool:
    """Whether a name is one of those that a configured one stands for.

    takes("claude-*", "claude-opus-5")  # True
    """
    first, *others = wildcard.split("*")
    last, at = others.pop(), len(first)
    if not name.startswith(first) or not name.endswith(last):
        return False
    for part in others:
        found = name.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return at <= len(name) - len(last)
