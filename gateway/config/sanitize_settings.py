"""Settings of the sanitizer and its guardrail. `settings` says how to read them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.domain import TEXT_MODEL

ENTITIES = (
    *("SECRET", "CREDIT_CARD", "IBAN", "US_SSN", "NATIONAL_ID", "CRYPTO_WALLET", "EMAIL", "PHONE", "IP"),
    *("PERSON", "ADDRESS", "DATE_OF_BIRTH", "HEALTH", "PRIVATE", "INSTRUCTION"),
)
"""The entities that the detectors and the guardrail find. `sanitize.actions` takes these and those of own patterns."""


@dataclass(frozen=True, slots=True)
class SanitizeActions:
    """For each direction, entity -> action (`block`, `redact`, `replace`, `flag`, `off`); overrides the profile's."""

    requests: Mapping[str, str] = field(default_factory=dict)
    responses: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SanitizePattern:
    """An entity of the operator's own: its name in the mask, and an RE2 pattern."""

    entity: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Sanitize:
    """What is inspected, and what is done with findings. `routes`: only the web tools by default, since masking a chat
    changes what a model reads and writes, which an operator must want. `restore_tools`: the caller's tools in whose
    arguments placeholders become values again, all of them or none."""

    requests: bool = True
    responses: bool = True
    profile: str = "balanced"
    routes: tuple[str, ...] = ("websearch",)
    actions: SanitizeActions = field(default_factory=SanitizeActions)
    patterns: tuple[SanitizePattern, ...] = ()
    allow_list: tuple[str, ...] = ()
    restore_tools: bool | tuple[str, ...] = True


@dataclass(frozen=True, slots=True)
class GuardrailSettings:
    """The model that judges texts. `timeout_s`: one short judgement of a served model; every web-tool call may wait
    that long. `on_failure`: requests fail closed, because what has left the gateway cannot be taken back."""

    enabled: str = "auto"
    model: str = TEXT_MODEL
    timeout_s: float = 3
    on_failure: str = "closed"
    on_failure_responses: str = "open"
