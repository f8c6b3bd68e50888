"""What callers see of an upstream's refusal: its reason, without keys, addresses or anything that was sent to it."""

from typing import Any

import pytest

from gateway.errors import UpstreamError, UpstreamRefused, UpstreamTimeout
from gateway.wire import openai_error
from gateway.wire.openai_error import error_in_answer, error_in_stream, failure_code, scrubbed, upstream_error

SECRET = "correct-horse-battery"


def test_a_secret_of_any_form_that_was_sent_is_not_repeated() -> None:
    body = {"error": {"message": f"no access with {SECRET} here"}}
    assert upstream_error(400, body, None, (f"Token {SECRET}",)).message == "no access with [hidden] here"
    assert upstream_error(429, body, 3, (SECRET,)).message == "no access with [hidden] here"
    told = "Bearer abcdef at http://10.0.0.1:8000/v1\n\nand 10.0.0.2:80"
    assert scrubbed(told) == "Bearer [hidden] at [hidden] and [hidden]"


@pytest.mark.parametrize(
    ("status", "code", "seen"),
    [
        (401, "upstream_credentials", 502), (404, "upstream_misconfigured", 502), (413, "invalid_value", 413),
        (429, "rate_limit_exceeded", 429), (500, "upstream_error", 502), (503, "upstream_unavailable", 503),
    ],
)  # fmt: skip
def test_a_status_becomes_an_error_that_says_who_can_mend_it(status: int, code: str, seen: int) -> None:
    error = upstream_error(status, {"detail": "x"}, None)
    assert (error.code, error.status) == (code, seen)


@pytest.mark.parametrize(
    ("message", "code", "param"),
    [
        ("maximum context length is 8 tokens", "context_length_exceeded", "messages"),
        ("max_tokens is too large for a context length of 8", "invalid_value", "max_tokens"),
        ("Field 'top_k' must be a number", "invalid_value", "top_k"),
        ("image input is not supported", "invalid_value", "messages"),
    ],
)
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


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UpstreamRefused("x", status=400, code="odd"), "invalid_prompt"), (UpstreamError("x"), "server_error"),
        (UpstreamRefused("x", status=429, code="odd"), "rate_limit_exceeded"), (UpstreamTimeout("x"), "server_error"),
        (UpstreamRefused("x", status=429, code="insufficient_quota"), "insufficient_quota"),
        (UpstreamRefused("x", status=400, code="context_length_exceeded"), "context_length_exceeded"),
    ],
)  # fmt: skip
def test_a_failed_response_has_a_code_that_clients_know(error: UpstreamError, code: str) -> None:
    assert failure_code(error) == code


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": [{"msg": "too long", "at": None}]}, "too long"),
        ({"detail": [{"loc": ["body", "n"], "msg": "wrong"}]}, "body.n: wrong"),
        ({"detail": [{"text": "wrong"}]}, '[{"text":"wrong"}]'),
        ({"error": {"message": {"words": "no", "fatal": True}}}, '{"words":"no","fatal":true}'),
        ({"error": {"message": None, "detail": "too long"}}, "too long"),
        ({"error": {"message": None}}, "the upstream refused the request"),
    ],
)
def test_a_message_that_is_no_text_is_shown_as_json_and_never_in_pythons_notation(body: object, message: str) -> None:
    assert upstream_error(400, body, None).message == message


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        "Invalid request: Your request exceeded model token limit: 131072",
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        "Please reduce the length of the messages or completion.",
        "Input is too long for requested model.",
        "prompt token count of 70000 exceeds the limit of 64000",
        "inputs must have less than 1024 tokens. Given: 2000; `inputs` tokens must be <= 1024",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        "the request exceeds the available context size, try increasing it",
        "the input length exceeds the context length",
        "Trying to keep the first 9000 tokens when context the overflows: greater than the context length",
        "Range of input length should be [1, 98304]",
    ],
)
def test_every_makers_words_for_a_conversation_that_is_too_long_have_the_clients_code(words: str) -> None:
    error = upstream_error(400, {"error": {"message": words}}, None)
    assert (error.status, error.code, error.param) == (400, "context_length_exceeded", "messages")


@pytest.mark.parametrize(
    "words",
    [
        "tools[0].function.name: must be at most 64 characters long",
        "max_tokens must be at most 8192",
        "temperature exceeds the maximum of 2",
        "messages: text content blocks must be non-empty",
        "image exceeds 5 MB maximum",
    ],
)
def test_words_that_only_sound_like_it_keep_their_own_code(words: str) -> None:
    assert upstream_error(400, {"error": {"message": words}}, None).code == "invalid_value"


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"error": {"code": "402", "message": "no credits"}}, 502, ""),
        ({"error": {"type": "overloaded_error", "message": "x"}}, 503, ""),
        ([{"error": {"status": "INVALID_ARGUMENT", "message": "tools[1] is wrong"}}], 400, "tools[1] is wrong"),
        ({"error": {"code": "RESOURCE_EXHAUSTED", "message": "quota"}}, 429, "quota"),
        ({"object": "error", "type": "BadRequestError", "message": "no such field"}, 400, "no such field"),
        ({"error": {"message": "Provider returned error", "metadata": {"raw": '{"detail": "n is 9"}'}, "code": 422}},
         400, "n is 9"),
        ({"error": {"message": '{"error": "{\\"error\\": {\\"message\\": \\"deep\\"}}"}', "code": 400}}, 400, "deep"),
        ({"error": "something broke"}, 502, ""),
    ],
)  # fmt: skip
def test_an_error_within_an_answer_has_the_status_and_words_that_it_means(body: Any, status: int, words: str) -> None:
    error = error_in_stream(body)
    assert error.status == status and (not words or error.message == words)


W = "too many words"
MAKERS = [
    {"success": False, "errors": [{"code": 7003, "message": W}]}, {"error_code": 336003, "error_msg": W},
    {"choices": None, "base_resp": {"status_code": 1004, "status_msg": W}}, {"code": 10013, "message": W, "sid": "x"},
    {"errorMessage": W, "errorCode": "X"}, {"fault": {"faultstring": W, "detail": {"errorcode": "x"}}},
    {"error": "invalid_request", "error_description": W}, {"error": {"reason": W}}, {"error": [W]},
    {"errors": {"messages": [W]}}, {"error": {"message": {"text": W}}},
]  # fmt: skip


@pytest.mark.parametrize("body", MAKERS, ids=str)
def test_every_makers_words_are_found_whatever_the_status(body: dict[str, object]) -> None:
    told = error_in_answer(body)
    assert told is not None and told.message.endswith(W) and upstream_error(400, body, None).message == W


@pytest.mark.parametrize("more", [{"base_resp": {"status_code": 0, "status_msg": "success"}}, {"message": "m"}])
def test_what_no_error_has_is_none(more: dict[str, object]) -> None:
    assert error_in_answer({"id": "c", "choices": [], **more}) is None
