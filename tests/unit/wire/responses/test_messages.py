"""Items in any order become messages in the order that strict chat templates accept."""

from typing import Any, get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseIncludable

from gateway.errors import InvalidRequest
from gateway.wire.responses.request import to_chat

PNG = "data:image/png;base64,AAAA"


def message(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": text}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}"}


def output(call_id: str, value: Any = "5") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": value}


def messages_of(*items: dict[str, Any]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = to_chat({"model": "m", "input": list(items)}, []).body["messages"]
    return messages


def image(url: str = PNG) -> dict[str, Any]:
    return {"type": "input_image", "image_url": url}


def test_a_text_after_a_call_joins_the_calls_message() -> None:
    assistant, answer = messages_of(call("a"), message("assistant", "I add"), output("a"))
    assert assistant["content"] == "I add" and assistant["tool_calls"][0]["id"] == "a"
    assert answer == {"role": "tool", "tool_call_id": "a", "content": "5"}


NAMED = {"type": "function_call_output", "name": "f", "output": "5"}


@pytest.mark.parametrize("item", [{**message("tool", "5"), "call_id": "a"}, NAMED])
def test_a_message_of_role_tool_and_an_output_by_the_name_of_a_call_are_outputs(item: dict[str, Any]) -> None:
    assert messages_of(call("a"), item)[1] == {"role": "tool", "tool_call_id": "a", "content": "5"}


def test_the_texts_of_one_answer_are_one_message_of_the_assistant() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}}
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    found = messages_of(
        message("assistant", ""), message("assistant", "I look."), search, thought, message("assistant", "Paris."),
        call("a"), output("a"), message("assistant", "5."), message("user", "so?"),
    )  # fmt: skip
    assert [each["role"] for each in found] == ["assistant", "tool", "assistant", "user"]
    assert found[0]["content"] == "I look.\n\nParis." and found[0]["tool_calls"][0]["id"] == "a"


def test_outputs_of_text_that_are_parts_become_parts_until_they_have_many_values() -> None:
    parts = orjson.dumps([{"type": "input_text", "text": "see"}, image()]).decode()
    _, answer, shown = messages_of(call("a"), output("a", parts))
    assert answer["content"].startswith("see\n") and shown["content"][-1]["image_url"]["url"] == PNG
    for text in (parts[:-1] + ",[]" * 60_000 + "]", '["image",' + "[]," * 60_000 + "1]", '[{"type": "row"}]'):
        _, answer = messages_of(call("a"), output("a", text))
        assert answer["content"] == text


def test_a_user_message_waits_until_the_open_calls_are_answered() -> None:
    calls = [call("a"), call("b"), message("user", "quick!"), output("b"), output("a")]
    found = messages_of(*calls, message("user", "so?"))
    assert [each["role"] for each in found] == ["assistant", "tool", "tool", "user", "user"]
    assert [each["content"] for each in found[3:]] == ["quick!", "so?"]


def test_images_of_parallel_outputs_are_one_user_message_after_the_last_of_them() -> None:
    first, second = [image(), {"type": "input_text", "text": "left"}], [image("https://x.example/b.png")]
    found = messages_of(call("a"), call("b"), message("user", "look"), output("a", first), output("b", second))
    assert [each["role"] for each in found] == ["assistant", "tool", "tool", "user", "user"]
    assert found[1]["content"].startswith("left\n[image")
    parts = found[3]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text", "image_url"]
    assert "tool call a" in parts[0]["text"] and parts[3]["image_url"]["url"] == "https://x.example/b.png"
    assert found[4]["content"] == "look"


@pytest.mark.parametrize("role", ["system", "developer", "assistant"])
def test_an_image_where_chat_has_no_place_for_one_becomes_a_note(role: str) -> None:
    item = {"type": "message", "role": role, "content": [{"type": "input_text", "text": "see"}, image()]}
    request = to_chat({"model": "m", "input": [item]}, [])
    assert request.body["messages"][0]["content"] == "see\n[input_image: left out, this model cannot read it here]"
    assert request.warnings[0].startswith("input[0].content[1]: ")


def test_a_file_becomes_a_note_with_its_name() -> None:
    part = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}
    for role in ("user", "assistant"):
        assert "[input_file a.pdf: " in messages_of({"role": role, "content": [part]})[0]["content"]
    assert "input_file" in messages_of(call("a"), output("a", [{"type": "input_file", "file_id": "f"}]))[1]["content"]


def test_an_unknown_part_and_the_id_of_a_file_are_refused_by_their_path_and_what_is_allowed() -> None:
    with pytest.raises(InvalidRequest, match="allowed: input_text") as caught:
        messages_of({"role": "user", "content": [{"type": "input_hologram"}]})
    assert caught.value.param == "input[0].content[0]" and "input_hologram" in caught.value.message
    with pytest.raises(InvalidRequest, match="stored files are not supported") as caught:
        messages_of({"type": "message", "role": "user", "content": [{"type": "input_image", "file_id": "file_1"}]})
    assert caught.value.param == "input[0].content[0].file_id"


def test_values_of_include_that_nobody_knows_are_told_and_those_of_the_sdk_are_taken() -> None:
    known = [value for value in get_args(ResponseIncludable) if "logprobs" not in value]
    assert to_chat({"model": "m", "input": [message("user", "hi")], "include": known}, []).warnings == []
    wrong = ["web_search_call.source", *known, 5, {"a": "secret"}]
    [warning] = to_chat({"model": "m", "input": [message("user", "hi")], "include": wrong}, []).warnings
    assert warning.startswith("include[0] 'web_search_call.source', include[8], include[9]: not known and left out;")
    assert all(value in warning for value in get_args(ResponseIncludable))
    [warning] = to_chat({"model": "m", "input": [message("user", "hi")], "include": ["x"] * 1_000}, []).warnings
    assert "and 995 more" in warning


def test_an_item_that_nobody_knows_is_left_out_with_a_warning_and_refused_where_there_is_no_other() -> None:
    request = to_chat({"model": "m", "input": [message("user", "hi"), {"type": "dream"}]}, [])
    assert len(request.body["messages"]) == 1 and "'dream'" in request.warnings[0]
    with pytest.raises(InvalidRequest, match=r"must hold a message \(input\[0\]: items of type 'hologram'"):
        messages_of({"type": "hologram"})


@pytest.mark.parametrize("call_id", ["zz", {"a": 1}])
def test_an_output_of_no_call_is_refused(call_id: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        messages_of(call("a"), {"type": "shell_call_output", "call_id": call_id, "output": []})
    assert caught.value.param == "input[1].call_id"


def test_a_later_setting_of_the_conversation_wins() -> None:
    schema = {"type": "json_schema", "name": "n", "schema": {"type": "object"}}
    updates: list[Any] = [
        {"reasoning": {"effort": "high"}, "text": {"format": schema}},
        {"reasoning": {"effort": "low"}},
    ]
    items = [message("user", "hi"), *({"type": "configuration_update", **each} for each in updates)]
    instructions = [message("developer", "be brief")]
    body = {"model": "m", "input": items, "reasoning": {"effort": "medium"}, "instructions": instructions}
    chat = to_chat(body, []).body
    assert chat["reasoning_effort"] == "low" and chat["response_format"]["json_schema"]["name"] == "n"
    assert chat["messages"][0] == {"role": "system", "content": "be brief"}  # instructions may be items


STEPS = st.lists(st.sampled_from(["call", "answer", "picture", "user", "assistant", "system", "tool"]), max_size=20)


@pytest.mark.slow
@given(STEPS)
def test_whatever_the_order_of_items_every_output_follows_its_calls_message(steps: list[str]) -> None:
    items: list[dict[str, Any]] = [message("user", "begin")]
    unanswered: list[str] = []
    for number, step in enumerate(steps):
        if step == "call":
            unanswered.append(f"c{number}")
            items.append(call(f"c{number}"))
        elif step in ("answer", "picture") and unanswered:
            value = [image()] if step == "picture" else "5"
            items.append(output(unanswered.pop(number % len(unanswered)), value))
        elif step in ("user", "assistant", "system"):
            items.append(message(step, f"text {number}"))
    items += [output(call_id) for call_id in unanswered]
    found = messages_of(*items)
    expected: set[str] = set()
    for each in found:
        if each["role"] == "tool":
            expected.remove(each["tool_call_id"])
        else:
            assert not expected, found
            expected = {one["id"] for one in each.get("tool_calls", ())}
    assert not expected
    texts = [item["content"] for item in items if item["type"] == "message"]
    assert all(any(text in str(each["content"]) for each in found) for text in texts)
