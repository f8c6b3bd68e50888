"""A report for the person who tunes the sanitizer: findings in a text, the actions on them, and the masked text.

Uses the detectors only, not the guardrail. Shows at most the first four characters of a value.
"""

import importlib
from dataclasses import replace

from gateway.config.settings import Sanitize
from gateway.domain import Json
from gateway.sanitize.findings import Finding
from gateway.sanitize.placeholders import Placeholders
from gateway.sanitize.policy import ActionTable, actions
from gateway.sanitize.slot_mask import Masks


def preview(text: str, config: Sanitize, profile: str | None = None) -> Json:
    """The same for a program: `{profile, findings: [{start, end, line, column, entity, certain, request, response}],
    request_text, response_text}`.

    `start` and `end` count characters (code points) of the text; `request` and `response` are the actions.
    """
    config = config if profile is None else replace(config, profile=profile)
    scanner = importlib.import_module("gateway.sanitize.scanner")  # the console's process goes without until then
    findings: list[Finding] = scanner.Scanner(config.patterns, config.allow_list).scan(text)
    request_actions, response_actions = actions(config, "requests"), actions(config, "responses")
    rows = []
    for finding in findings:
        line, column = _line_and_column(text, finding.start)
        rows.append(
            {
                "start": finding.start,
                "end": finding.end,
                "line": line,
                "column": column,
                "entity": finding.entity,
                "certain": finding.certain,
                "request": request_actions.action(finding.entity, finding.certain),
                "response": response_actions.action(finding.entity, finding.certain),
            }
        )
    return {
        "profile": config.profile,
        "findings": rows,
        "request_text": _masked(text, findings, request_actions),
        "response_text": _masked(text, findings, response_actions),
    }


def explain(text: str, config: Sanitize, profile: str | None = None) -> str:
    """The report as lines of text: one for each finding, then the text masked as in a request and as in a response.

    `profile` replaces that of `config`.
    """
    shown = preview(text, config, profile)
    findings = shown["findings"]
    if not findings:
        return f"Nothing found (profile {shown['profile']})."
    lines = [
        f"{len(findings)} found (profile {shown['profile']}):",
        f"{'place':>10}  {'kind':<16}{'':<9}{'request':<9}{'response':<9}",
    ]
    for each in findings:
        place, certainty = f"{each['line']}:{each['column']}", "certain" if each["certain"] else "likely"
        lines.append(
            f"{place:>10}  {each['entity']:<16}{certainty:<9}{each['request']:<9}{each['response']:<9}"
            f"{_excerpt(text[each['start'] : each['end']])}"
        )
    request, response = shown["request_text"], shown["response_text"]
    place = "Where a model answers with it:"
    answered = [f"{place} the same"] if response == request else [place, response]
    lines += ["", "In a request:", request, "", *answered]
    return "\n".join(lines)


def _masked(text: str, findings: list[Finding], table: ActionTable) -> str:
    """The text as a model sees it, with masks and placeholders."""
    masks, parts, at = Masks(Placeholders()), list[str](), 0
    for finding in findings:
        action = table.action(finding.entity, finding.certain)
        if action in ("redact", "replace"):
            parts += (text[at : finding.start], masks.over(finding, text[finding.start : finding.end], action))
            at = finding.end
    return "".join((*parts, text[at:]))


def _line_and_column(text: str, start: int) -> tuple[int, int]:
    return text.count("\n", 0, start) + 1, start - (text.rfind("\n", 0, start) + 1) + 1


def _excerpt(value: str) -> str:
    """The first third of a value, at most four characters: enough to find it, not enough to use it."""
    return f"{value[: min(4, len(value) // 3)]}… ({len(value)} characters)"
