"""Parameters in each upstream's own words, and which one an upstream has refused.

The words of refusals stand in `tests/golden/upstream_errors.json`.
"""

import json
from typing import Any

import pytest

from gateway.wire.chat.presets import PRESETS, rules_of
from gateway.wire.parameters import refused_parameter
from tests.support.paths import GOLDEN

RECORDED: dict[str, list[Any]] = json.loads((GOLDEN / "upstream_errors.json").read_text())
ASKED: dict[str, Any] = {"messages": [], "max_completion_tokens": 9, "reasoning_effort": "none", "top_k": 3, "seed": 1}


@pytest.mark.parametrize("preset", [name for name in PRESETS if name])
def test_every_preset_tells_a_model_not_to_think_and_keeps_the_limit(preset: str) -> None:
    sent = rules_of({"preset": preset}).applied(ASKED)
    assert [sent.get("max_tokens"), sent.get("max_completion_tokens")].count(9) == 1
    told = {"thinking", "chat_template_kwargs", "reasoning", "reasoning_effort"} & set(sent)
    assert len(told) == 1, sent
    plain = rules_of({"preset": preset}).applied({"messages": []})
    assert plain == {"messages": []}, "what the caller does not ask for is not sent"


RULES = [
    ({}, ASKED),
    ({"rename": {"seed": "random_seed"}}, {**{k: v for k, v in ASKED.items() if k != "seed"}, "random_seed": 1}),
    ({"drop": ["seed", "top_k"]}, {k: v for k, v in ASKED.items() if k not in ("seed", "top_k")}),
    ({"set": {"top_k": 7}}, {**ASKED, "top_k": 7}),
    ({"rename": {"seed": "top_k"}}, {k: v for k, v in ASKED.items() if k != "seed"}),
]


@pytest.mark.parametrize(("settings", "sent"), RULES)
def test_an_operators_rules_rename_drop_and_set(settings: dict[str, Any], sent: dict[str, Any]) -> None:
    assert rules_of(settings).applied(ASKED) == sent


def test_an_effort_reaches_an_upstream_that_has_another_field_for_it() -> None:
    sent = rules_of({"preset": "openrouter"}).applied({"reasoning_effort": "low", "reasoning": {"exclude": True}})
    assert sent == {"reasoning": {"effort": "low", "exclude": True}}


def test_schemas_of_tools_have_only_words_that_gemini_knows() -> None:
    count = {"type": ["integer", "null"], "exclusiveMinimum": 0, "description": "d"}
    kind = {"oneOf": [{"const": "a"}, {"$ref": "#/$defs/b"}]}
    schema = {"$schema": "s", "type": "object", "properties": {"const": count, "kind": kind},
              "additionalProperties": False, "required": ["const"]}  # fmt: skip
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    sent = rules_of({"preset": "gemini"}).applied({"tools": tools})["tools"][0]["function"]["parameters"]
    assert sent == {
        "type": "object", "required": ["const"],
        "properties": {"const": {"type": "integer", "nullable": True, "description": "d"},
                       "kind": {"anyOf": [{"enum": ["a"]}, {}]}},
    }  # fmt: skip


def test_ids_of_calls_that_mistral_does_not_take_are_replaced_alike_in_call_and_result() -> None:
    talk = [
        {"role": "assistant", "tool_calls": [{"id": "toolu_01AbC", "type": "function"}, {"id": "aB3dE6gH9"}]},
        {"role": "tool", "tool_call_id": "toolu_01AbC"},
    ]
    call, result = rules_of({"preset": "mistral"}).applied({"messages": talk})["messages"]
    assert len(call["tool_calls"][0]["id"]) == 9 and call["tool_calls"][0]["id"] == result["tool_call_id"]
    assert call["tool_calls"][1]["id"] == "aB3dE6gH9"


@pytest.mark.parametrize(
    ("words", "param", "found"), RECORDED["a parameter that is not known: words, param, names found"]
)
def test_a_parameter_is_refused_where_the_words_say_that_it_is_not_known(words: str, param: Any, found: Any) -> None:
    sent = {"messages": [], "seed": 1, "max_tokens": 9, "tools": [], "response_format": {}}
    assert refused_parameter(sent, words, param) == (found and (*found, True, None))


@pytest.mark.parametrize(
    ("words", "effort", "lower"), RECORDED["an effort that is not understood: words, effort, the one tried instead"]
)
def test_an_effort_that_is_not_understood_becomes_a_lower_one_once(words: str, effort: str, lower: str | None) -> None:
    assert refused_parameter({"reasoning_effort": effort}, words, None) == ("reasoning_effort", "", False, lower)


def test_an_effort_of_an_object_is_replaced_in_it() -> None:
    sent = {"reasoning": {"effort": "max", "summary": "auto"}}
    found = refused_parameter(sent, "'reasoning.effort' does not support 'max'", "reasoning.effort")
    assert found is not None and found.value == {"effort": "xhigh", "summary": "auto"}


REFUSED_VALUES = [
    "'seed' does not support 77 with this model",
    "Unsupported value: 'seed' does not support this with this model.",
    "unsupported_value: seed",
]


@pytest.mark.parametrize("words", REFUSED_VALUES)
def test_a_refused_value_says_nothing_of_others(words: str) -> None:
    assert refused_parameter({"seed": 77}, words, "seed") == ("seed", "", False, None)


def test_a_limit_that_was_sent_under_both_names_is_not_tried_again() -> None:
    assert refused_parameter({"max_tokens": 1, "max_completion_tokens": 1}, "'max_tokens' is unsupported", None) is None
