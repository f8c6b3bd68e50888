"""The gateway's vocabulary: plain values that the layers hand to each other.

Times are seconds, sizes bytes, unless a name says otherwise."""

import re
from collections.abc import AsyncGenerator, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from gateway.texts import TextSlot

Json: TypeAlias = dict[str, Any]
"""A decoded JSON object."""

SCOPES: tuple[str, ...] = ("web-search", "chat", "responses", "ocr", "embeddings", "admin")
"""What a key may be allowed to do: the web tools, the routes of chat and messages, the responses route, models of kind
`ocr`, the embeddings route, the console's data on the ops listener."""

OWN_TOOLS_LABEL = "gateway"
"""The label of the gateway's own web tools among MCP servers. They need the scope `web-search`."""

_MCP_SCOPE = re.compile(r"mcp:[a-z0-9][a-z0-9_-]{0,63}")


def is_scope(name: str) -> bool:
    """Whether a key may have this scope: one of SCOPES, or `mcp:LABEL` for the MCP server with that label."""
    return name in SCOPES or _MCP_SCOPE.fullmatch(name) is not None


TEXT_MODEL, OCR_MODEL, OCR_MODEL_ALIAS, EMBEDDING_MODEL = "SvcLLM", "SvcOCR", "SvcOcr", "SvcEmbedding"
"""Public names of the embedded engines; a configured model of the same name replaces one."""

WEB_TOOLS = ("websearch-search", "websearch-extract", "websearch-crawl", "websearch-map", "websearch-search_status")
"""Names of the web tools."""
WEB_SEARCH_SCOPE = "web-search"
"""What a key needs for them."""

ANTHROPIC_VERSION = "2023-06-01"
"""The version of Anthropic's interface that an upstream is asked for where the caller names none."""
SEALED = "gws1."
"""What begins each token that the gateway seals for its clients to carry (`access.sealing`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLimits:
    """The limits that a key has of its own, named as in `[limits]`: 0 = none, None = the configured one.
    Spend is in the currency of `[[prices]]`. The last two bind each `user` that a key names in its requests."""

    per_minute: int | None = None
    concurrent: int | None = None
    tokens_per_minute: int | None = None
    tokens_per_day: int | None = None
    tool_calls_per_day: int | None = None
    spend_per_month: float | None = None
    per_user_tokens_per_day: int | None = None
    per_user_spend_per_day: float | None = None


KEY_LIMITS = tuple(each.name for each in fields(KeyLimits))
"""Their names."""


@dataclass(frozen=True, slots=True)
class Caller(KeyLimits):
    """The holder of a key: its public id, name and scopes. `identity`: what rotating a key keeps; empty for the id.
    `has_budgets`: whether one of its limits but the first two is its own."""

    key_id: str
    name: str
    scopes: frozenset[str]
    identity: str = ""
    has_budgets: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", self.identity or self.key_id)
        own = any(getattr(self, name) is not None for name in KEY_LIMITS[2:])
        object.__setattr__(self, "has_budgets", own)  # every request asks


class Event:
    """One server-sent event on its way through the gateway. Made by a named constructor or a `RelayTemplate`.

    | made by         | `data`              | `raw`              | `opaque` | text to inspect                        |
    |-----------------|---------------------|--------------------|----------|----------------------------------------|
    | `from_data`     | decoded JSON object | None, made at edge | True     | where the dialect says                 |
    | `from_bytes`    | None                | finished frame     | True     | none: a comment or `[DONE]`            |
    | `of_relay`      | None                | finished frame     | False    | `text`, at the place `relayed` names   |

    A finished frame is bytes up to and including its blank line; `wire.sse.decode` fills `data` of a relayed one.
    `name` is the SSE `event:` field, if any. `finish` turns the data, after every middleware has seen it, into what
    goes on the wire.
    """

    __slots__ = ("data", "finish", "name", "opaque", "raw", "relayed", "text")

    def __init__(
        self,
        data: Json | None = None,
        raw: bytes | None = None,
        opaque: bool = True,
        relayed: "RelayTemplate | None" = None,
        text: str = "",
        *,
        name: str | None = None,
        finish: Callable[[Json], Json] | None = None,
    ) -> None:
        self.data = data
        self.raw = raw
        self.opaque = opaque
        self.relayed = relayed
        self.text = text
        self.name = name
        self.finish = finish

    @classmethod
    def from_data(cls, data: Json, *, name: str | None = None, finish: Callable[[Json], Json] | None = None) -> "Event":
        """An event whose frame is made from `data` when it is sent."""
        return cls(data, name=name, finish=finish)

    @classmethod
    def from_bytes(cls, frame: bytes) -> "Event":
        """A finished frame without text to inspect: a comment, or `[DONE]`."""
        return cls(None, frame)

    @classmethod
    def of_relay(cls, template: "RelayTemplate", frames: Iterable[tuple[bytes, str]]) -> "list[Event]":
        """Events of a template: `(finished frame, its text)` each."""
        return [cls(None, frame, False, template, text) for frame, text in frames]


class RelayTemplate(Protocol):
    """The pattern of relayed events that differ in their text only: pieces of one `channel`, at the path `where`."""

    @property
    def channel(self) -> Hashable: ...

    @property
    def answer(self) -> Hashable:
        """As `wire.dialect.Dialect.answer_of`."""

    @property
    def where(self) -> str: ...

    def slot_of(self, event: Event) -> TextSlot:
        """The text of one, to be replaced: only then is the event decoded."""


EventBatch: TypeAlias = list[Event]
"""The events of one network read, in order, which are written together. May be empty."""

EventStream: TypeAlias = AsyncGenerator[EventBatch, None]


class DirectSink(Protocol):
    """Where a relay writes."""

    def is_free(self) -> bool:
        """Whether a write would neither wait nor fail."""
        ...

    def write_now(self, frames: bytes, count: int) -> None:
        """Write the frames of so many events. Called where `is_free`."""
        ...


class RelayStage(Protocol):
    """Looks at the texts of relayed events on their short way: masks them (`sanitize.stream_mask.StreamMask`), or
    writes them in the form of another interface (`wire.hosted_answer.RelayedTexts`)."""

    @property
    def is_open(self) -> bool:
        """Whether it can look at more events without waiting."""
        ...

    @property
    def has_failed(self) -> bool:
        """Whether what was found, or a fault, ends the stream: the next batch raises it, also an empty one."""
        ...

    def pass_on(self, events: "EventBatch") -> tuple[bytes, int]:
        """Take relayed events of one pattern; the frames of those that are ready, in one piece, and their number."""
        ...


class Relay:
    """The short way of one stream's plain chunks: from the upstream's socket to the client's, while the task that reads
    the stream waits. What cannot go this way wakes the task, which goes on with it, in order.

    | field     | set by                          | what it does                                               |
    |-----------|---------------------------------|------------------------------------------------------------|
    | `source`  | who makes the answer            | the stream; one that was changed since is another          |
    | `parse`   | the upstream's client           | the data of the events in some bytes                       |
    | `convert` | who normalises the stream       | our frames for a batch of data that all go on; else None   |
    | `events`  | the same                        | the same as events; none for any other batch               |
    | `stage`   | who masks or translates it      | frames and number of the events that are ready, in order   |
    | `is_live` | `calls.delivery`, as `sink` is  | whether the caller's key is valid                          |
    | `sink`    | the door, once it has begun     | writes to the client                                       |
    """

    __slots__ = ("convert", "events", "is_live", "is_over", "joined", "left", "parse", "sink", "source", "stage")

    def __init__(self) -> None:
        self.source: EventStream | None = None
        self.parse: Callable[[bytes], list[bytes]] | None = None
        self.convert: Callable[[list[bytes]], bytes | None] | None = None
        self.events: Callable[[list[bytes]], EventBatch] | None = None
        self.stage: RelayStage | None = None
        self.is_live: Callable[[], bool] | None = None
        self.sink: DirectSink | None = None
        self.joined = 0
        """Chunks that left in the event of another one."""
        self.left: list[bytes] = []
        """The last batch that `take` was given, where it cannot go on."""
        self.is_over = False
        """The stage ends the stream: an empty batch tells its reader."""

    @property
    def is_open(self) -> bool:
        """Whether anything may go this way."""
        return self.sink is not None and self.convert is not None

    def take(self, data: bytes) -> bool:
        """Write what these bytes of the upstream complete; False where that cannot be: it is `left`. Raises
        UpstreamError."""
        parse, convert, is_live, sink = self.parse, self.convert, self.is_live, self.sink
        assert parse is not None and convert is not None and is_live is not None and sink is not None
        batch = parse(data)
        if not batch:
            return True
        if self.stage is not None:
            return self._take_events(batch, self.stage)
        frames = convert(batch) if is_live() and sink.is_free() else None
        if frames is None:
            self.left = batch
            return False
        sink.write_now(frames, len(batch))
        return True

    def _take_events(self, batch: list[bytes], stage: RelayStage) -> bool:
        events_of, is_live, sink = self.events, self.is_live, self.sink
        assert events_of is not None and is_live is not None and sink is not None
        events = events_of(batch) if stage.is_open and is_live() and sink.is_free() else []
        if not events:
            self.left = batch
            return False
        frames, count = stage.pass_on(events)
        if count:
            sink.write_now(frames, count)
        self.is_over = stage.has_failed
        return not self.is_over


class SearchRequest(NamedTuple):
    """Arguments of `websearch-search`, checked and with defaults; see schemas/tools/search.json. One with a date has no
    `time_range`: `services.websearch.tools.search_request` drops it.

    A tuple because it is the key of the search cache: made, hashed and compared in a third of a dataclass's time.
    """

    query: str
    search_depth: str = "basic"
    max_results: int = 10
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()
    topic: str = "general"
    time_range: str | None = None
    start_date: date | None = None
    end_date: date | None = None
    include_images: bool = False
    include_image_descriptions: bool = False
    include_raw_content: bool = False
    country: str | None = None
    include_favicon: bool = False
    exact_match: bool = False

    def days(self) -> tuple[date | None, date | None]:
        """First and last day of the results, in UTC, each None when open."""
        if self.time_range:
            return datetime.now(UTC).date() - timedelta(days=_DAYS[self.time_range]), None
        return self.start_date, self.end_date


_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}
"""Days of each `time_range`: the longest month and year, so that no result of the range is missed."""


@dataclass(frozen=True, slots=True)
class ExtractRequest:
    """Arguments of `websearch-extract`; see schemas/tools/extract.json."""

    urls: tuple[str, ...]
    extract_depth: str = "basic"
    include_images: bool = False
    format: str = "markdown"
    include_favicon: bool = False
    query: str | None = None


@dataclass(frozen=True, slots=True)
class CrawlRequest:
    """Arguments of `websearch-crawl` and `websearch-map` (which ignores the last three)."""

    url: str
    max_depth: int = 1
    max_breadth: int = 20
    limit: int = 50
    instructions: str | None = None
    select_paths: tuple[str, ...] = ()
    select_domains: tuple[str, ...] = ()
    allow_external: bool = True
    extract_depth: str = "basic"
    format: str = "markdown"
    include_favicon: bool = False


class WebCall(NamedTuple):
    """The context of a web-tool call. `owner` is the key's id, which alone finds the pages fetched for it unless the
    index is shared. `patient` is true when the caller gave a progress token: it gets the longer time budget."""

    owner: str
    request_id: str
    patient: bool = False
    progress: "Progress | None" = None


@dataclass(slots=True)
class Progress:
    """State of a long call: `done` pages of `total` known ones (None = unknown). Calls `on_change` after every step.

    `done` never decreases and `total`, when known, is never below it.
    """

    on_change: "Callable[[Progress], None] | None" = None
    done: int = 0
    total: int | None = None
    message: str = ""

    def step(self, done: int, total: int | None, message: str) -> None:
        """Set the state, which never goes back."""
        self.done, self.total, self.message = max(done, self.done), total, message
        if self.on_change is not None:
            self.on_change(self)


class Stateful(Protocol):
    """A message that is being answered. `value`: its state so far (`wire.chat.kept`)."""

    @property
    def value(self) -> Json | None: ...


class Metered(Protocol):
    """A streamed answer. `usage` so far: `{prompt_tokens, completion_tokens}`, as chat counts it."""

    @property
    def usage(self) -> Json: ...


class CallBudget(Protocol):
    """What one call of a model may use of its caller's budgets: `access.budgets.Reservation`, which says what each of
    these does. The call is settled at the end of the block."""

    def limited(self, body: Json) -> Json: ...

    def clipped(self, sent: Json, renamed: Mapping[str, str]) -> Json: ...

    def wrote(self, size: int) -> bool: ...

    def has_room(self, size: int) -> bool: ...

    async def extend(self) -> bool: ...

    def cut(self, size: int) -> int: ...

    def answered(self, usage: Json, written: int = 0) -> None: ...

    def counted(self) -> Json: ...

    async def __aenter__(self) -> "CallBudget": ...

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None: ...


class StateNames(Protocol):
    """The placeholders in what only an upstream understands of its answers, and gets back on a later turn, where the
    same names may stand for other values: `calls.masking.Masking`."""

    def noted(self, state: Json) -> Json:
        """The state with what its placeholders stand for."""
        ...

    def met(self, state: Json) -> Json:
        """The state of an earlier turn, its placeholders with the names that their values have now. Raises
        InvalidRequest where a part that must not be changed holds one of them."""
        ...


class Spend(Protocol):
    """What a caller may spend on models: `access.budgets.KeySpend`."""

    async def reserve(
        self,
        body: Json,
        stats: "RequestStats",
        *,
        more: Sequence[Json] = (),
        fixed: Sequence[Mapping[str, Any]] = (),
        has_output: bool = True,
    ) -> CallBudget:
        """Reserve what a call may use. `body`: what the model is asked, `more`: what it reads beside it; `fixed`: the
        operator's own fields of each upstream that may answer. Raises BudgetSpent, NoPrice."""
        ...


Outcome: TypeAlias = Literal["", "client_gone", "truncated", "tool_error", "cancelled", "failed"]
"""How a request ended, where its HTTP status does not tell; empty where it does. The last three are a tool call's."""


_MAX_STEPS = 64


@dataclass(slots=True, kw_only=True)
class RequestStats:
    """What one request used; filled while it is served, read for the log line and the metrics. In slots: a default
    that is an attribute of the class saves 10 ns when it is made and costs 25 ns more each time it is read.

    Times are seconds, `started_s` on the monotonic clock. `findings` counts masked values by entity.
    Never holds a prompt, an answer, a key or a host name that a caller chose.
    """

    model: str = ""
    upstream: str = ""
    tool: str = ""
    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0  # of the input tokens, those that the upstream had in its cache
    written_tokens: int = 0  # of the input tokens, those that the upstream has written to its cache
    sent_events: int = 0  # of a stream, once it has ended
    tools: dict[str, int] = field(default_factory=dict)  # calls by name of the web tool, or by `mcp:LABEL`
    upstream_s: float = 0.0
    outcome: Outcome = ""
    code: str = ""  # of the error that the caller got; see `errors.error_label`
    user_hash: str = ""
    who: tuple[str, ...] = ()  # the user and the session that the request names, hashed
    key_id: str = ""
    trace_id: str = ""
    started_s: float = 0.0
    findings: dict[str, int] = field(default_factory=dict)
    unguarded: int = 0  # texts that passed although the guardrail failed, because the policy allows it
    warnings: list[str] = field(default_factory=list)  # for the caller: what was left out or done in another way
    made: "Stateful | None" = None
    """What the upstream of the answer must get back of it; of the last round, where there are several."""
    streaming: "Metered | None" = None
    """The stream that is being answered; its tokens so far are not yet in the counts above."""
    spend: Spend | None = None
    """What its calls of models are paid from; None where nothing binds."""
    names: StateNames | None = None
    """None where nothing is masked."""
    headers: Mapping[str, str] | None = None
    """Of the request, those that an upstream gets which speaks the caller's interface itself."""
    steps: list[Json] | None = None
    """What was done one after the other, where that is more than one call of one upstream: `{upstream, model, ms,
    code?}`, `{round}`, `{tool, ms, status}`. Names and figures alone."""

    def note(self, **step: Any) -> None:
        """Add one of `steps`; those beyond _MAX_STEPS are left out."""
        steps = self.steps = [] if self.steps is None else self.steps
        if len(steps) < _MAX_STEPS:
            steps.append(step)

    def note_attempt(self, code: str) -> None:
        """Add the call of an upstream that has just ended. `code`: of its error, empty for none."""
        before = sum(step["ms"] for step in self.steps or () if "upstream" in step)
        more = {"code": code} if code else {}
        self.note(upstream=self.upstream, model=self.model, ms=round(self.upstream_s * 1000 - before, 2), **more)
