"""The action for each finding, by entity, certainty and direction: the profile's default, overridden by the operator's
configuration. Pure.

| entities                                                  | balanced, requests | balanced, responses | strict, both |
|-----------------------------------------------------------|--------------------|---------------------|--------------|
| SECRET, CREDIT_CARD, IBAN, NATIONAL_ID, US_SSN, certain   | redact             | redact              | redact       |
| the same, likely                                          | redact             | flag                | redact       |
| the detectors' others (EMAIL, PHONE, IP, …)               | redact             | flag                | redact       |
| the guardrail's (`GUARDRAIL_ENTITIES`)                    | flag               | flag                | redact       |
| INSTRUCTION, the guardrail's too                          | flag               | flag                | flag         |
| the operator's own patterns                               | redact             | redact              | redact       |

`reversible` is `balanced` with `replace` for `redact` in requests (`restoring`). An entry of `sanitize.actions` holds
for an entity's certain and likely findings alike.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from gateway.config.settings import Sanitize
from gateway.sanitize.findings import GRADED, RANK

Action: TypeAlias = Literal["block", "redact", "replace", "flag", "off"]
"""block: refuse the text; redact: put a mask over the value; replace: put a placeholder in its place, which becomes the
value again in the answer (elsewhere as redact); flag: only count it; off: ignore it."""
Direction: TypeAlias = Literal["requests", "responses"]

GUARDRAIL_ENTITIES = ("PERSON", "ADDRESS", "DATE_OF_BIRTH", "HEALTH", "PRIVATE", "INSTRUCTION")
"""Entities that only the guardrail model reports."""
_ALWAYS_FLAGGED = frozenset(("INSTRUCTION",))
"""Not redacted even in `strict`: a page about prompts holds instructions too, and would be lost."""


class ActionTable:
    """The actions of one direction."""

    def __init__(self, config: Sanitize, direction: Direction) -> None:
        strict = config.profile == "strict"
        all_redacted = strict or direction == "requests"
        table: dict[str, Action] = {}
        for entity in RANK:
            # public contact data is often what a search was for, so answers keep it
            table[entity] = "redact" if all_redacted or entity in GRADED else "flag"
        for entity in GUARDRAIL_ENTITIES:
            table[entity] = "redact" if strict and entity not in _ALWAYS_FLAGGED else "flag"
        for pattern in config.patterns:
            table[pattern.entity] = "redact"
        likely: dict[str, Action] = {} if all_redacted else dict.fromkeys(GRADED, "flag")
        overrides: Mapping[str, Action] = getattr(config.actions, direction)
        if config.profile == "reversible" and direction == "requests":
            table = {entity: "replace" if action == "redact" else action for entity, action in table.items()}
        self._certain = {**table, **overrides}
        self._likely = {**self._certain, **likely, **overrides}
        if direction == "responses":  # what a model writes has no caller to go back to
            for each in (self._certain, self._likely):
                each.update({entity: "redact" for entity, action in each.items() if action == "replace"})
        self.replaces = "replace" in self._certain.values() or "replace" in self._likely.values()

    @classmethod
    def empty(cls) -> "ActionTable":
        """The table of a direction that is not sanitized."""
        table = cls.__new__(cls)
        table._certain, table._likely, table.replaces = {}, {}, False
        return table

    def action(self, entity: str, certain: bool = True) -> Action:
        """What to do with a finding; an unknown entity is `off`."""
        return (self._certain if certain else self._likely).get(entity, "off")


def actions(config: Sanitize, direction: Direction) -> ActionTable:
    """The table of a direction."""
    return ActionTable(config, direction)
