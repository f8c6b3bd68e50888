"""What callers see of an upstream's refusal: its reason, without keys, addresses or anything that was sent to it.

The words and forms of makers stand in `tests/golden/upstream_errors.json`.
"""

import json
from typing import Any

import pytest

from gateway.errors import UpstreamError, UpstreamRefused, UpstreamTimeout
from gateway.wire import openai_error
from gateway.wire.openai_error import error_in_answer, error_in_stream, failure_code, scrubbed, upstream_error
from tests.support.paths import GOLDEN

RECORDED: dict[str, list[Any]] = json.loads((GOLDEN / "upstream_errors.json").read_text())
SECRET = "correct-horse-battery"


def test_a_secret_of_any_form_that_was_sent_is_not_repeated() -> None:
    body = {"error": {"message": f"no access with {SECRET} here"}}
    assert upstream_error(400, body, None, (f"Token {SECRET}",)).message == "no access with [hidden] here"
    assert upstream_error(429, body, 3, (SECRET,)).message == "no access with [hidden] here"
    told = "Bearer abcdef at http://10.0.0.1:8000/v1\n\nand 10.0.0.2:80"
    assert scrubbed(told) == "Bearer [hidden] at [hidden] and [hidden]"


STATUSES = [
    (401, "upstream_credentials", 502), (404, "upstream_misconfigured", 502), (413, "invalid_value", 413),
    (429, "rate_limit_exceeded", 429), (500, "upstream_error", 502), (503, "upstream_unavailable", 503),
]  # fmt: skip


@pytest.mark.parametrize(("status", "code", "seen"), STATUSES)
def test_a_status_becomes_an_error_that_says_who_can_mend_it(status: int, code: str, seen: int) -> None:
    error = upstream_error(status, {"detail": "x"}, None)
    assert (error.code, error.status) == (code, seen)


FAULTS = [
    ("maximum context length is 8 tokens", "context_length_exceeded", "messages"),
    ("max_tokens is too large for a context length of 8", "invalid_value", "max_tokens"),
    ("Field 'top_k' must be a number", "invalid_value", "top_k"),
    ("image input is not supported", "invalid_value", "messages"),
]


@pytest.mark.parametrize(("message", "code", "param"), FAULTS)
def test_the_words_of_servers_for_one_fault_become_one_code(message: str, code: str, param: str) -> None:
    error = upstream_error(400, {"error": message}, None)
    assert isinstance(error, UpstreamRefused) and (error.code, error.param) == (code, param)


@pytest.mark.parametrize(("input_kind", "named"), [("image", "images"), ("audio", "sound"), ("video", "videos")])
def test_an_input_that_a_model_does_not_take_is_the_callers_to_mend(input_kind: str, named: str) -> None:
    message = f"{input_kind} input is not supported - hint: you may need to provide the mmproj"
    error = upstream_error(500, {"error": {"code": 500, "message": message}}, None)
    assert isinstance(error, UpstreamRefused) and error.status == 400
    assert error.message == f"this model does not take {named}" and error.param == "messages"


def test_the_responses_route_names_its_own_fields() -> None:
    for param, named in (("messages[0].content", "input"), ("max_tokens", "max_output_tokens"), (None, None)):
        error = UpstreamRefused("x", status=400, code="invalid_value", param=param)
        assert openai_error.responses_error_object(error)["param"] == named


def test_an_error_within_a_stream_has_the_status_that_its_code_means() -> None:
    assert error_in_stream({"error": {"code": 429, "message": "x"}}).status == 429
    assert error_in_stream({"error": {"code": "insufficient_quota"}}).code == "insufficient_quota"
    assert error_in_stream({"error": {"code": "strange"}}).status == 502


CODES = [
    (UpstreamRefused("x", status=400, code="odd"), "invalid_prompt"), (UpstreamError("x"), "server_error"),
    (UpstreamRefused("x", status=429, code="odd"), "rate_limit_exceeded"), (UpstreamTimeout("x"), "server_error"),
    (UpstreamRefused("x", status=429, code="insufficient_quota"), "insufficient_quota"),
    (UpstreamRefused("x", status=400, code="context_length_exceeded"), "context_length_exceeded"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "code"), CODES)
def test_a_failed_response_has_a_code_that_clients_know(error: UpstreamError, code: str) -> None:
    assert failure_code(error) == code


@pytest.mark.parametrize(("body", "message"), RECORDED["messages that are no text: body, message"])
def test_a_message_that_is_no_text_is_shown_as_json_and_never_in_pythons_notation(body: object, message: str) -> None:
    assert upstream_error(400, body, None).message == message


@pytest.mark.parametrize("words", RECORDED["a conversation that is too long"])
def test_every_makers_words_for_a_conversation_that_is_too_long_have_the_clients_code(words: str) -> None:
    error = upstream_error(400, {"error": {"message": words}}, None)
    assert (error.status, error.code, error.param) == (400, "context_length_exceeded", "messages")


@pytest.mark.parametrize("words", RECORDED["words that only sound like it"])
def test_words_that_only_sound_like_it_keep_their_own_code(words: str) -> None:
    assert upstream_error(400, {"error": {"message": words}}, None).code == "invalid_value"


@pytest.mark.parametrize(("body", "status", "words"), RECORDED["within an answer: body, status, words"])
def test_an_error_within_an_answer_has_the_status_and_words_that_it_means(body: Any, status: int, words: str) -> None:
    error = error_in_stream(body)
    assert error.status == status and (not words or error.message == words)


@pytest.mark.parametrize("body", RECORDED["makers' forms of the words 'too many words'"], ids=str)
def test_every_makers_words_are_found_whatever_the_status(body: dict[str, object]) -> None:
    told = error_in_answer(body)
    assert told is not None and told.message.endswith("too many words")
    assert upstream_error(400, body, None).message == "too many words"


@pytest.mark.parametrize("more", [{"base_resp": {"status_code": 0, "status_msg": "success"}}, {"message": "m"}])
def test_what_no_error_has_is_none(more: dict[str, object]) -> None:
    assert error_in_answer({"id": "c", "choices": [], **more}) is None
