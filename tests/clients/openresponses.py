"""openresponses-types, the models of the Open Responses specification. In: `{responses, events,
compactions?}`; out: `{problems}`."""

import json
import sys

import openresponses_types as spec
from pydantic import ValidationError


def event_models() -> dict[str, type]:
    models = {}
    for name in dir(spec):
        model = getattr(spec, name)
        if name.endswith("StreamingEvent") and "type" in getattr(model, "model_fields", {}):
            for told in model.model_fields["type"].annotation:
                models[told.value] = model
    return models


EVENTS = event_models()


def problems(model: type, data: object) -> list[str]:
    try:
        model.model_validate(data)
    except ValidationError as error:
        return [f"{model.__name__} {each['loc']}: {each['msg']}" for each in error.errors()]
    return []


def main() -> None:
    plan = json.load(sys.stdin)
    found = [problem for data in plan["responses"] for problem in problems(spec.ResponseResource, data)]
    for data in plan.get("compactions", ()):
        found += problems(spec.CompactResource, data)
    for event in plan["events"]:
        model = EVENTS.get(event["type"])
        found += problems(model, event) if model else [f"no model for {event['type']}"]
    print(json.dumps({"problems": found, "known": len(EVENTS)}))


main()
