"""The action for each entity, by direction: the profile's default, overridden by the operator's configuration. Pure.

| entities                                         | balanced, requests | balanced, responses | strict, both |
|--------------------------------------------------|--------------------|---------------------|--------------|
| SECRET, CREDIT_CARD, IBAN, NATIONAL_ID, US_SSN   | redact             | redact              | redact       |
| the detectors' others (EMAIL, PHONE, IP, …)      | redact             | flag                | redact       |
| the guardrail's (`GUARDRAIL_ENTITIES`)           | flag               | flag                | redact       |
| the operator's own patterns                      | redact             | redact              | redact       |
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from gateway.config.settings import Sanitize
from gateway.sanitize.text.findings import RANK

Action: TypeAlias = Literal["block", "redact", "flag", "off"]
"""block: refuse the text; redact: put a mask over the value; flag: only count it; off: ignore it."""
Direction: TypeAlias = Literal["requests", "responses"]

GUARDRAIL_ENTITIES = ("PERSON", "ADDRESS", "DATE_OF_BIRTH", "HEALTH", "PRIVATE")
"""Entities that only the guardrail model reports."""
_REDACTED_IN_RESPONSES = frozenset(("SECRET", "CREDIT_CARD", "IBAN", "NATIONAL_ID", "US_SSN"))
"""Redacted in the responses of the profile `balanced`, where public contact data is often what a search was for."""


def actions(config: Sanitize, direction: Direction) -> Mapping[str, Action]:
    """{entity: action} of every known entity; an entity that is missing is `off`."""
    strict = config.profile == "strict"
    table: dict[str, Action] = {}
    for entity in RANK:
        table[entity] = "redact" if strict or direction == "requests" or entity in _REDACTED_IN_RESPONSES else "flag"
    for entity in GUARDRAIL_ENTITIES:
        table[entity] = "redact" if strict else "flag"
    for pattern in config.patterns:
        table[pattern.entity] = "redact"
    overrides: Mapping[str, Action] = getattr(config.actions, direction)
    return {**table, **overrides}
