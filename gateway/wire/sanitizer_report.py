"""What the sanitizer did to a text, as callers see it: `{redacted: {entity: count}, flagged: {entity: count}}`.

`redacted` counts the values that are missing from the text, masked or withheld with it; `flagged` those that stay.
Where values become placeholders, `replaced` counts those of the request, `restored` the placeholders that became
values again in the answer, `not_restored` those that did not. `guardrail: "unavailable"` is added where the guardrail
failed and the policy let the text pass. Never a value found.
"""

from collections.abc import Iterable, Mapping

from gateway.domain import Json


def report_of(
    counts: Mapping[str, int],
    flagged: Mapping[str, int],
    replaced: Mapping[str, int] | None = None,
    *,
    is_degraded: bool = False,
) -> Json:
    """The report on one text. `counts`: all findings by entity; `flagged`: those of them that stay; `replaced`: those
    that became placeholders."""
    replaced = replaced or {}
    redacted = {entity: number - flagged.get(entity, 0) - replaced.get(entity, 0) for entity, number in counts.items()}
    report: Json = {
        "redacted": {entity: number for entity, number in sorted(redacted.items()) if number > 0},
        "flagged": dict(sorted(flagged.items())),
    }
    if replaced:
        report["replaced"] = dict(sorted(replaced.items()))
    if is_degraded:
        report["guardrail"] = "unavailable"
    return report


def merged_reports(reports: Iterable[Json]) -> Json:
    """One report on several texts together."""
    total: Json = {"redacted": {}, "flagged": {}}
    for report in reports:
        for kind in ("redacted", "flagged", "replaced", "restored", "not_restored"):
            for entity, number in report.get(kind, {}).items():
                total.setdefault(kind, {})
                total[kind][entity] = total[kind].get(entity, 0) + number
        if "guardrail" in report:
            total["guardrail"] = report["guardrail"]
    return total


def ending_of(data: Json) -> Json | None:
    """What holds the `provider_specific_fields` of an answer in the event that ends it: a choice with a finish reason,
    a response that is over, a message's last delta. None for any other event."""
    if data.get("type") == "message_delta":
        return data
    response = data.get("response")
    if isinstance(response, dict):
        return response if response.get("status") in ("completed", "incomplete", "failed") else None
    return next((choice for choice in data.get("choices") or () if choice.get("finish_reason")), None)
