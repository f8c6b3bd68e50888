"""The response object of a whole chat answer. Knows no HTTP and no streams.

Source: OpenAI API reference (Responses) and the Open Responses specification 2026-04-24, read 2026-11-21.
"""

from gateway.domain import Json
from gateway.wire.responses import object as objects
from gateway.wire.responses.calls import call_items
from gateway.wire.responses.tool_names import ToolNames


def from_chat(body: Json, answer: Json, names: ToolNames) -> Json:
    """The response object for a request `body` and a normal `chat.completion`, of which the first choice is used.

    `names` are those of the translated request (`request.to_chat`).
    """
    response = objects.new_response(body)
    response["model"] = answer.get("model", response["model"])
    choice: Json = (answer.get("choices") or [{}])[0]
    message = choice.get("message") or {}
    text, refusal = message.get("content") or "", message.get("refusal") or ""
    calls = message.get("tool_calls") or []
    output = response["output"]
    if reasoning := message.get("reasoning_content"):
        output.append(objects.reasoning_item(objects.new_id("rs"), "completed", [objects.summary_part(reasoning)]))
    parts = [objects.text_part(text)] if text or not (refusal or calls) else []
    parts += [objects.refusal_part(refusal)] if refusal else []
    output += [objects.message_item(objects.new_id("msg"), "completed", [part]) for part in parts]
    output += call_items(names, calls)
    objects.finish(response, choice.get("finish_reason"), answer.get("usage"), choice.get("provider_specific_fields"))
    for name in ("system_fingerprint", "service_tier"):
        if answer.get(name) is not None:
            response[name] = answer[name]
    return response
