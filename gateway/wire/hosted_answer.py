"""An answer for which the gateway itself ran tools, as neutral events: hosted web search, and other hosted tools.

`services.hosted_tools` makes the events; the wire modules of chat, responses and messages write them in their formats.
Knows no format and no tool. Order of an answer: any number of pieces and calls, then one `AnswerEnd`. All phases of a
call come together; text before a call and text after it are two texts.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from gateway.domain import Json

LOGPROBS_LEFT_OUT = "logprobs were left out: only /v1/chat/completions without web search has them"
"""A warning. The tokens of several rounds, cut anew at citations, do not spell the pieces of the text; and responses
that are translated from chat have none."""


class Source(NamedTuple):
    """A page that the model was shown. `number` is what the model cites it by, from 1 on."""

    number: int
    url: str
    title: str


@dataclass(slots=True)
class HostedCall:
    """One call of a hosted tool, from its beginning to its end.

    `item_id`: its id in the answer (`ws_…`). `kind`: which kind of hosted tool (`web_search`). `name` and `arguments`
    (JSON): as the model called it. `status`: `in_progress`, `completed` or `failed`. `action`: what it does, for a
    search `{type: "search", query, queries}`, `{type: "open_page", url}` or `{type: "find_in_page", url, pattern}`.
    `sources`: the pages it found; `results`: `{title, url, content, published_date?}` of each. `output`: the text that
    the model was given. `error`: a sentence where it failed. `ends_turn`: the answer ends with this call.
    """

    item_id: str
    kind: str
    name: str
    arguments: str
    status: str = "in_progress"
    action: Json = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    results: list[Json] = field(default_factory=list)
    output: str = ""
    error: str = ""
    ends_turn: bool = False


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer's text. With `citations` it is one whole visible link to these sources, nothing else."""

    text: str
    citations: tuple[Source, ...] = ()
    is_refusal: bool = False


@dataclass(frozen=True, slots=True)
class ReasoningPiece:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A piece of a call of the caller's own tools: chat's `{index, id?, type?, function: {name?, arguments?}}`."""

    delta: Json


@dataclass(frozen=True, slots=True)
class CallPhase:
    """A hosted call went on: `in_progress`, `searching`, `completed` or `failed` for a search."""

    call: HostedCall
    phase: str


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    """The end. `usage`: chat's usage, summed over all rounds. `backend`: `provider_specific_fields` of the last one.

    `identity` holds `model`, and `id`, `created`, `system_fingerprint`, `service_tier` where the upstream sent them.
    """

    finish_reason: str | None
    usage: Json
    backend: Json
    identity: Json


HostedEvent: TypeAlias = TextPiece | ReasoningPiece | ClientCall | CallPhase | AnswerEnd
