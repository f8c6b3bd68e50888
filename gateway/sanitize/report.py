"""What the sanitizer would do with a text, told to a person who tunes it: kinds, places, actions, the masked text.

The detectors alone; the values themselves are shown only by their first characters.
"""

from dataclasses import replace

from gateway.config.settings import Sanitize
from gateway.sanitize.masking.policy import actions
from gateway.sanitize.scan.scanner import Scanner
from gateway.sanitize.text.findings import Finding, masked


def explain(text: str, config: Sanitize, profile: str | None = None) -> str:
    """Lines to print: one a finding, then the text as it would leave and as it would come back."""
    config = config if profile is None else replace(config, profile=profile)
    found = Scanner(config.patterns, config.allow_list).scan(text)
    if not found:
        return f"Nothing found (profile {config.profile})."
    asked, answered = actions(config, "requests"), actions(config, "responses")
    lines = [
        f"{len(found)} found (profile {config.profile}):",
        f"{'place':>10}  {'kind':<16}{'request':<9}{'response':<9}",
    ]
    for finding in found:
        line, column = _place(text, finding.start)
        lines.append(
            f"{f'{line}:{column}':>10}  {finding.entity:<16}{asked.get(finding.entity, 'off'):<9}"
            f"{answered.get(finding.entity, 'off'):<9}{_shown(text, finding)}"
        )
    leaving = masked(text, [each for each in found if asked.get(each.entity) == "redact"])
    coming = masked(text, [each for each in found if answered.get(each.entity) == "redact"])
    lines += ["", "In a request:", leaving]
    lines += ["", "In a response: the same" if coming == leaving else f"In a response:\n{coming}"]
    return "\n".join(lines)


def _place(text: str, start: int) -> tuple[int, int]:
    return text.count("\n", 0, start) + 1, start - (text.rfind("\n", 0, start) + 1) + 1


def _shown(text: str, finding: Finding) -> str:
    """Enough to find it, not enough to use it."""
    value = text[finding.start : finding.end]
    kept = min(4, len(value) // 3)
    return f"{value[:kept]}… ({len(value)} characters)"
