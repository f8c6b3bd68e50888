"""What is done with each kind of finding, by direction: the two profiles, and the operator's words over them."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from gateway.config.settings import Sanitize
from gateway.sanitize.text.findings import RANK

Action: TypeAlias = Literal["block", "redact", "flag", "off"]
Direction: TypeAlias = Literal["requests", "responses"]

GUARDRAIL_ENTITIES = ("PERSON", "ADDRESS", "DATE_OF_BIRTH", "HEALTH", "PRIVATE")
_ALWAYS = frozenset(("SECRET", "CREDIT_CARD", "IBAN", "NATIONAL_ID", "US_SSN"))


def actions(config: Sanitize, direction: Direction) -> Mapping[str, Action]:
    """Entity -> action. What the operator's own patterns find is redacted unless the configuration says otherwise."""
    strict = config.profile == "strict"
    table: dict[str, Action] = {}
    for entity in RANK:
        table[entity] = "redact" if strict or direction == "requests" or entity in _ALWAYS else "flag"
    for entity in GUARDRAIL_ENTITIES:
        table[entity] = "redact" if strict else "flag"
    for pattern in config.patterns:
        table[pattern.entity] = "redact"
    own: Mapping[str, Action] = getattr(config.actions, direction)
    return {**table, **own}
