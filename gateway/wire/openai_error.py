"""OpenAI's error objects: makes those for callers, and turns those of upstreams into errors of the domain.

Source: OpenAI API reference and SDKs openai 3.52, @ai-sdk/openai 3.0 (read 2026-11-21). `code` is always a string:
one SDK drops the message when it is null.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from gateway.domain import Json
from gateway.errors import GatewayError, Unauthenticated, UpstreamError, UpstreamRefused, UpstreamUnavailable
from gateway.key_scrubber import HIDDEN, scrub_keys
from gateway.wire.retry_after import retry_after_s
from gateway.wire.untrusted_json import table_in, tables_in, words_of

_WRONG_KEY = "Incorrect API key provided"
"""OpenAI's words for a 401, with its capital letter. LiteLLM tells errors apart by words, not by status: it takes other
texts for a wrong request."""
_MAX_CHARS = 300
"""Most characters of an upstream's message in ours."""
_OF_RESPONSES = {"messages": "input", "max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
"""Fields of a chat request, and their names in the responses route."""
_ANSWER_LENGTHS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_TOO_LONG_ANSWER = re.compile(r"\b(max_(?:completion_|output_)?tokens)\b.{0,60}? too large")
"""Fields for the length of an answer, and vLLM's words for one that does not fit, in which it names the model's context
length too. The prompt fits there: clients that shorten it would not get further."""
_TOO_LONG = re.compile(
    r"(?i)\bcontext[ _-]?(?:length|window|size|limit)|exceed_context"
    r"|\bmax(?:imum)?[ _](?:prompt|input|model)[ _](?:length|tokens)"
    r"|\btoo many (?:input |prompt )?tokens|\b(?:prompt|input|inputs|conversation) (?:is|are|was) too (?:long|large)"
    r"|\breduce the length of (?:the|your) (?:messages?|prompt|input|conversation)|\brange of input length"
    r"|\b(?:prompt|inputs?|request|conversation)\b.{0,60}?\b(?:exceed(?:s|ed)?|longer than|greater than|too large)\b"
    r".{0,60}?\b(?:tokens?|limit|length|context|maximum)\b"
    r"|\binputs?`? tokens?\b.{0,40}?(?:must be|should be|cannot exceed)"
)
"""Words for a conversation that is too long: a context's length, window, size or limit; a prompt or input that exceeds
tokens, a length or a limit. OpenAI, Anthropic, Gemini, Mistral, Kimi, GLM, xAI, Groq, Bedrock,
Copilot, TGI, vLLM, SGLang, llama.cpp, llama-cpp-python, Ollama, LM Studio (their public reports, read 2026-11-28)."""
_FAILURES = {
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "context_length_exceeded": 400,
    "invalid_prompt": 400,
    "server_error": 500,
}
"""Codes of a failed response that clients act on, and the status that each would have had (openai-python's types and
Codex CLI 0.169, read 2026-11-22)."""
_WORDS_OF_STATUS = {
    400: ("invalid_request", "invalid_argument", "failed_precondition", "bad_request", "badrequest", "validation"),
    401: ("authentication", "unauthenticated", "unauthorized"),
    403: ("permission", "forbidden"),
    404: ("not_found",),
    413: ("too_large",),
    429: ("rate_limit", "too_many_requests", "resource_exhausted", "insufficient_quota", "throttl"),
    503: ("overloaded", "unavailable"),
    504: ("timeout", "deadline_exceeded"),
}
"""What the types and codes of errors contain, by the status that they mean: OpenAI's and Anthropic's types, gRPC's
names (Gemini), class names of vLLM's exceptions."""
_NESTED = 4
"""Errors within the message of an error, of gateways before gateways, that are looked into."""
_WORDS = (
    "message", "faultstring", "detail", "msg", "error_description", "error_message", "errormessage", "error_msg",
    "status_msg", "reason", "errors", "error", "messages",
)  # fmt: skip
"""What an error's words are called, in lower case, the likeliest first."""
_HOLDERS = ("base_resp", "fault")
"""Members with an error within, other than `error` (MiniMax, Apigee)."""
_ALONE = ("error_msg", "error_message", "errorMessage", "detail", "errors", "fault")
"""Members that only an error has, where an answer has no choices (Baidu, FastAPI, Cloudflare)."""
_ADDRESS = re.compile(
    r"(?i)\b[a-z][a-z0-9+]{1,15}://\S+"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b"
    r"|\[[0-9a-f:.]{2,45}\](?::\d{1,5})?"
    r"|(?<![\w.-])(?:localhost|[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}):\d{2,5}\b"
)
"""URLs, IP addresses, and names with a port. What an upstream says of them is about the operator's network."""
_INPUTS = {"image": "images", "audio": "sound", "video": "videos"}
_REFUSED_INPUT = re.compile(rf"\b({'|'.join(_INPUTS)}) input is not supported")
"""llama.cpp's words for an input that its model does not take; for sound and videos they come with status 500."""
_READ_CHARS = 4_000
"""Characters of a message that are scrubbed: more than are shown, as scrubbing makes addresses and keys shorter."""
_CODE = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PARAM = re.compile(r"[A-Za-z0-9_.\[\]-]{1,128}")
"""Codes and names of fields as APIs have them. Anything else of an upstream's is not passed on."""


def error_object(error: GatewayError) -> Json:
    """`{message, type, param, code}`. For an upstream's refusal `type` follows the status, since clients act on it."""
    kind = error.type
    if isinstance(error, UpstreamRefused):
        kind = "rate_limit_error" if error.status == 429 else "invalid_request_error"
    message = error.message
    if isinstance(error, Unauthenticated):
        message = f"{_WRONG_KEY}: {message}"
    return {"message": message, "type": kind, "param": error.param, "code": error.code}


def responses_error_object(error: GatewayError) -> Json:
    """The same for the responses route: `param` is the field of the request that its caller knows."""
    param = error.param
    named = _OF_RESPONSES.get(re.split(r"[.\[]", param)[0], param) if param is not None else None
    return {**error_object(error), "param": named}


RUN_FAILURES = ("server_stopped", "max_run_time")
"""Codes of ours for responses in the background: nobody else can say them."""


def failure_code(error: GatewayError) -> str:
    """The `error.code` of a response that failed while it was streamed: one of those that OpenAI's API has there."""
    if error.code in _FAILURES or error.code in RUN_FAILURES:
        return error.code
    if error.status == 429:
        return "rate_limit_exceeded"
    return "invalid_prompt" if 400 <= error.status < 500 and isinstance(error, UpstreamRefused) else "server_error"


def error_in_answer(body: Any, sent: Iterable[str] = ()) -> UpstreamError | None:
    """The error in an answer with status 200 or in an event; None if it is no error.

    It may be an object `{"error": …}`, a list of such, `{"object": "error", "message"}`, or, without choices, one with
    a member of `_ALONE`, or `{"code", "message"}`. Its code, a number or a word, its type or its status' name tell the
    status that it would have had.
    """
    inner = body[0] if isinstance(body, list) and len(body) == 1 else body
    if not isinstance(inner, dict):
        return None
    is_error = inner.get("error") or inner.get("object") == "error"
    if not is_error and (inner.get("choices") or not (any(map(inner.get, _ALONE)) or _is_bare_error(inner))):
        return None
    fields = _error_fields(body)
    return upstream_error(_status_of(fields), body, None, sent)


def _is_bare_error(body: Json) -> bool:
    """Whether it is `{"code", "message"}`, and no event, which has a `type`; or MiniMax's with a code other than 0."""
    is_pair = isinstance(body.get("message"), str) and bool(body.get("code")) and "type" not in body
    return is_pair or bool(table_in(body, "base_resp").get("status_code"))


def error_in_stream(body: Any) -> UpstreamError:
    """As `error_in_answer`, for what is known to be an error."""
    return error_in_answer(body) or upstream_error(_status_of(_error_fields(body)), body, None)


def _status_of(fields: Json) -> int:
    """The status that an error means; 500 where nothing says it."""
    for name in ("code", "status", "status_code", "http_status"):
        value = fields.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value[:4])
        if isinstance(value, int) and 400 <= value < 600:
            return value
    words = " ".join(str(fields.get(name) or "") for name in ("code", "type", "status")).lower().replace(" ", "_")
    for code, status in _FAILURES.items():
        if code in words:
            return status
    for status, kinds in _WORDS_OF_STATUS.items():
        if any(kind in words for kind in kinds):
            return status
    return 400 if _TOO_LONG.search(str(fields["message"] or "")) else 500


def scrubbed(text: Any, sent: Iterable[str] = ()) -> str:
    """An upstream's message in a form that callers may see: one line, no keys, no addresses, at most _MAX_CHARS.

    `sent`: the values of headers that were sent, of which no word is shown either (`key_scrubber.scrub_keys`).
    """
    line = " ".join(words_of(text)[:_READ_CHARS].split())
    secrets = [word for value in sent for word in value.split()]
    return _ADDRESS.sub(HIDDEN, scrub_keys(line, secrets))[:_MAX_CHARS]


def upstream_error(status: int, body: Any, retry_after_s: float | None, sent: Iterable[str] = ()) -> UpstreamError:
    """The error for an upstream's answer with an error `status` and the decoded `body` (None: not JSON).

    UpstreamRefused where the caller can correct the request (400, 409, 413, 422) or wait (429), else UpstreamError.
    `sent`: see `scrubbed`.
    """
    fields = _error_fields(body)
    said = scrubbed(fields.get("message") or "", sent)
    error = _upstream_error(status, fields, retry_after_s if retry_after_s is not None else _delay_in(fields), said)
    words = (fields.get(name) for name in ("type", "code"))
    kinds = [word for word in words if isinstance(word, str) and _CODE.fullmatch(word) and not word.isdigit()]
    error.cause, error.said = scrubbed(" ".join(dict.fromkeys((f"status {status}", *kinds))), sent), said
    return error


NOT_SERVED = "upstream_misconfigured"
"""The code of what an upstream does not serve."""
_NOT_SERVED = "the upstream does not serve this; the operator must check its base_url and model"
_OPERATORS: Mapping[int, tuple[str, str]] = {
    401: (
        "the upstream did not accept the gateway's key; the operator must set its credentials anew",
        "upstream_credentials",
    ),
    402: ("the upstream's account has no credit; the operator must add some", "upstream_payment"),
    403: (
        "the upstream does not allow this to the gateway's key; the operator must check its rights",
        "upstream_credentials",
    ),
    **dict.fromkeys((404, 405, 415), (_NOT_SERVED, NOT_SERVED)),
}
"""Statuses that only the operator can mend: the words and the code. Trying again does not help."""


def _upstream_error(status: int, fields: Json, retry_after_s: float | None, message: str) -> UpstreamError:
    if status in _OPERATORS:
        words, code = _OPERATORS[status]
        error = UpstreamError(_with_words(words, message), code=code)
        error.retryable = False
        return error
    if status == 429:
        is_quota = str(fields.get("code")) == "insufficient_quota"
        return UpstreamRefused(
            message or "the upstream is busy",
            status=429,
            code="insufficient_quota" if is_quota else "rate_limit_exceeded",
            retry_after_s=retry_after_s,
        )
    if refused := _REFUSED_INPUT.search(message):
        return UpstreamRefused(
            f"this model does not take {_INPUTS[refused[1]]}", status=400, code="invalid_value", param="messages"
        )
    if status in (400, 409, 413, 422):
        return _refused(status, message, fields)
    if status in (503, 529):
        text = _with_words("the upstream is not available", message)
        return UpstreamUnavailable(text, retry_after_s=retry_after_s)
    return UpstreamError(_with_words(f"the upstream failed ({status})", message), retry_after_s=retry_after_s)


def _with_words(text: str, message: str) -> str:
    return f"{text}. It says: {message}" if message else text


def _delay_in(fields: Json) -> float | None:
    """Seconds of the `retryDelay` among an error's details, `"7.4s"` (google.rpc.RetryInfo; Gemini)."""
    delays = [each["retryDelay"] for each in tables_in(fields, "details") if isinstance(each.get("retryDelay"), str)]
    return retry_after_s(delays[0].removesuffix("s")) if delays else None


def _refused(status: int, message: str, fields: Json) -> UpstreamError:
    """The request was refused."""
    code, param = fields.get("code"), fields.get("param")
    code = code if isinstance(code, str) and _CODE.fullmatch(code) and not code.isdigit() else "invalid_value"
    if named := (param if param in _ANSWER_LENGTHS else _TOO_LONG_ANSWER.search(message)):
        code, param = "invalid_value", named if isinstance(named, str) else named[1]
    elif _TOO_LONG.search(" ".join((message, str(fields.get("type")), code))):
        code, param = "context_length_exceeded", "messages"
    if param is None and (named := re.search(r"^Field '([a-z_]{1,40})'", message)):
        param = named[1]  # llama.cpp
    return UpstreamRefused(
        message or "the upstream refused the request",
        status=413 if status == 413 else 400,
        code=code,
        param=param if isinstance(param, str) and _PARAM.fullmatch(param) and not _ADDRESS.search(param) else None,
    )


def _error_fields(body: Any, depth: int = 0) -> Json:
    """`{message, type?, code?, param?}` of an error in any form: an object, a list of them, a text, or one of these in
    the message of another, which has the words that are meant.

        _error_fields({"error": {"message": '{"error":{"message":"too many"}}', "code": 400}})
        # {"message": "too many", "code": 400}
    """
    if isinstance(body, list):
        return _error_fields(next((each for each in body if isinstance(each, dict)), None), depth)
    if not isinstance(body, dict):
        return {"message": body}
    inner = body.get("error", next((body[name] for name in _HOLDERS if isinstance(body.get(name), dict)), body))
    if isinstance(inner, list):
        inner = next((each for each in inner if each), "")
    if not isinstance(inner, dict):
        inner = {**body, "message": body.get("error_description") or inner or body.get("message")}
    named = {name.lower(): value for name, value in inner.items() if value}
    words = next((named[name] for name in _WORDS if name in named), None)
    fields = {**inner, "message": _detail(words)}
    inside = (inner.get("error"), fields["message"], table_in(inner, "metadata").get("raw"))
    for each in inside if depth < _NESTED else ():
        deeper = _error_fields(_decoded(each), depth + 1)
        if deeper["message"]:
            told = {name: value for name, value in deeper.items() if value is not None}
            fields = {**told, **{n: v for n, v in fields.items() if v is not None}, "message": deeper["message"]}
    return fields


def _decoded(text: Any) -> Any:
    """The object or list that a value is, or that a text has; None for any other text."""
    if isinstance(text, dict | list):
        return text
    if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _detail(words: Any) -> Any:
    """The words of a list of problems, `[{loc, msg}]` (pydantic, FastAPI), as `body.name: words`; of a list of texts
    the first; of an object its text."""
    if isinstance(words, dict):
        named = {name.lower(): value for name, value in words.items() if value}
        words = next((named[name] for name in (*_WORDS, "text") if name in named), words)
    if not isinstance(words, list):
        return words
    if words and isinstance(words[0], str):
        return words[0]
    problems = [each for each in words if isinstance(each, dict) and isinstance(each.get("loc"), list)]
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {words_of(each.get('msg'))}" for each in problems) or words
