"""Cuts a long text that an upstream sends in one chunk into several deltas: what follows works on small ones.

A stream is masked and written event by event on the event loop: a chunk of 1 MB would hold it for a quarter of a
second. Clients join deltas anyway. Pure.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from gateway.resilience.freed_memory import give_back
from gateway.wire.logprobs import PackedLogprobs

DELTA_CHARS = 16_384
"""Chosen: four milliseconds of masking. At half, whole answers that are sent as one chunk (up to 16,000 characters) are
cut for nothing; at double, one takes 8 ms of the loop."""
_DELTA_TOKENS = 1_024
"""Tokens with their probabilities in one delta: they take 5 µs each. Chosen as above."""
_CUT = ("content", "reasoning_content", "refusal")
"""The fields of a delta that hold nothing but text."""
_MANY_PIECES = 16
"""Chosen: a text of a quarter of a megabyte. At half, memory is given back (.1 to 1 ms) for short answers too; at
double, twice as much of a text that was let go stays taken while it is sent."""
_AROUND_CHARS = 24
"""Chosen: as long as the JSON around a text. At half twice as many empty deltas may be held until the end."""
_CALLS = ("tool_calls", "function_call")


Short: TypeAlias = tuple[dict[str, Any], Any]
"""A delta of one field, and its `logprobs`."""


def short_deltas(delta: dict[str, Any], logprobs: Any) -> Iterator[Short | None]:
    """A delta of one field and its `logprobs` as several, each with the probabilities of its own text; as it is where
    it is short. Probabilities that cannot be told apart, as their tokens are not the text, are left out of a long one.

    None is a pause: some milliseconds of work without a delta.
    """
    name, text = next(iter(delta.items()))
    if name in _CALLS:
        for short in _short_calls(delta):
            yield short, logprobs
            logprobs = None
        return
    if isinstance(logprobs, PackedLogprobs):
        yield from _packed_deltas(delta, logprobs)
        return
    tokens = logprobs.get(name) if isinstance(logprobs, dict) else None
    is_long = len(text) > DELTA_CHARS
    is_spelt = isinstance(tokens, list) and (is_long or len(tokens) > _DELTA_TOKENS) and _spell(tokens, text)
    if name not in _CUT or not (is_long or is_spelt):
        yield delta, logprobs
    elif tokens is not None and is_spelt:
        del text
        delta.clear()
        for at, end in _token_spans(tokens):
            yield {name: "".join(each["token"] for each in tokens[at:end])}, {**logprobs, name: tokens[at:end]}
    else:
        delta.clear()
        rest = [text]
        del text
        yield from _without_tokens(name, rest)


def cost_of(delta: dict[str, Any]) -> int:
    """What a delta of one field counts as: the characters of its text, and those around it."""
    name, value = next(iter(delta.items()))
    if name in _CUT:
        return _AROUND_CHARS + len(value)
    calls = value if name == "tool_calls" else (value,)
    return _AROUND_CHARS + sum(len(each.get("function", each).get("arguments") or "") for each in calls)


def _short_calls(delta: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A delta of one call as several, if its arguments are long."""
    name, value = next(iter(delta.items()))
    call = value[0] if name == "tool_calls" else {"function": value}
    function = call["function"]
    if len(function.get("arguments") or "") <= DELTA_CHARS:
        yield delta
        return
    for piece in _cut_text([function.pop("arguments")]):
        short = {**call, "function": {**function, "arguments": piece}}
        yield {"tool_calls": [short]} if name == "tool_calls" else {"function_call": short["function"]}
        function = {}
        call = {"index": call.get("index")}


def _without_tokens(name: str, held: list[str]) -> Iterator[Short]:
    for piece in _cut_text(held):
        yield {name: piece}, None


def _cut_text(held: list[str]) -> Iterator[str]:
    """The one text in a list, in pieces of DELTA_CHARS. Nobody else should hold it: it is let go at once, and kept in
    UTF-8, as a string with an emoji in it takes four bytes for each character."""
    pieces = [held[0][start : start + DELTA_CHARS].encode() for start in range(0, len(held[0]), DELTA_CHARS)]
    held.clear()
    pieces.reverse()
    if len(pieces) > _MANY_PIECES:
        give_back()
    while pieces:
        yield pieces.pop().decode()


def _packed_deltas(delta: dict[str, Any], logprobs: PackedLogprobs) -> Iterator[Short | None]:
    """As `short_deltas`. The probabilities are decoded twice, some at a time, and never all at once."""
    name, text = next(iter(delta.items()))
    if name not in _CUT:
        yield delta, logprobs
        return
    at, is_spelt = 0, True
    for tokens in logprobs.tokens(name):
        piece = "".join(each["token"] for each in tokens) if _are_tokens(tokens) else None
        is_spelt = is_spelt and piece is not None and text.startswith(piece, at)
        at += len(piece or "")
        yield None
    if not is_spelt or at != len(text):
        yield from _without_tokens(name, [text]) if len(text) > DELTA_CHARS else [(delta, logprobs)]
        return
    others = {other: None for other in logprobs.names if other != name}
    for tokens in logprobs.tokens(name):
        for start, end in _token_spans(tokens) if tokens else ():
            some = tokens[start:end]
            yield {name: "".join(each["token"] for each in some)}, PackedLogprobs.of({**others, name: some})


def _spell(tokens: list[Any], text: str) -> bool:
    """Whether the tokens are the text, none so long that it would have to be cut."""
    return _are_tokens(tokens) and "".join(each["token"] for each in tokens) == text


def _are_tokens(tokens: list[Any]) -> bool:
    """Whether each is a token, none so long that it would have to be cut."""
    spelt = [each.get("token") for each in tokens if isinstance(each, dict)]
    return len([each for each in spelt if isinstance(each, str) and len(each) <= DELTA_CHARS]) == len(tokens)


def _token_spans(tokens: list[Any]) -> Iterator[tuple[int, int]]:
    """(first, end) of runs of tokens that are short enough together."""
    start = chars = 0
    for number, each in enumerate(tokens):
        length = len(each["token"])
        if number > start and (chars + length > DELTA_CHARS or number - start == _DELTA_TOKENS):
            yield start, number
            start, chars = number, 0
        chars += length
    yield start, len(tokens)
