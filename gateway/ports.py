"""What the services need from the layers below, as Protocols.

Each port has several implementations or is a seam that tests use:

| port                 | implementations                                                                        |
|----------------------|----------------------------------------------------------------------------------------|
| `SearchProvider`     | `SearchAdapter` and its subclasses (providers), `LocalSearch` (engines.index)             |
| `WebEngine`          | `LocalWebEngine` (engines.crawl), `Tavily`                                             |
| `CompletionUpstream` | `OpenAICompatUpstream`; decorators `FanOutUpstream`, `OnDemandUpstream`, `OcrAdapter`  |
| `ChatModel`          | `OwnModel` (services.completion) alone: it keeps guardrail and crawler apart from it   |
| `ToolServer`         | `McpSession` (providers); `OwnTools` (services.hosted_tools): the web tools in process |
| `ImageSource`        | the page fetcher (engines.fetch) alone: it keeps the completion and OCR services apart |
| `PagePictures`       | `PooledPictures` (engines.documents): the parsing processes draw pages of documents      |
| `PictureOcr`         | `OwnOcr` (services.ocr) alone: it keeps the web engine apart from the models           |

`app` chooses the implementations. Only subclasses of `gateway.errors.GatewayError` are raised through a port. A
cancelled call closes or releases its connections at once.
"""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from gateway.domain import CrawlRequest, ExtractRequest, Json, Relay, RequestStats, SearchRequest, WebCall


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page of a document as a data URL, its size in pixels, and how many pages the document has."""

    url: str
    width: int
    height: int
    pages: int


@dataclass(frozen=True, slots=True)
class PictureText:
    """What OCR has read of a picture. `is_uncertain`: much of it may be misread."""

    text: str
    is_uncertain: bool


class SearchProvider(Protocol):
    """A source of search results: a remote one, or the local index."""

    @property
    def name(self) -> str:
        """The value of `search.provider` in the configuration; also `provider` in an answer's data."""
        ...

    @property
    def capabilities(self) -> frozenset[str]:
        """Names of the SearchRequest fields that this provider honours itself.

        The service filters the results for the other fields, or lists them as ignored.
        """
        ...

    @property
    def results_are_per_key(self) -> bool:
        """True when the results depend on `call.owner`; the service then shares no cached answer between keys."""
        ...

    async def search(self, request: SearchRequest, call: WebCall) -> Json:
        """`{results, images, ignored?, note?}`. Raises UpstreamError.

        `results`: `[{title, url, content, score, published_date?, raw_content?, favicon?, images?}]`, best first, with
        `score` from 0 to 1. `images`: URL strings, or `{url, description}` when descriptions were requested. `ignored`:
        names of parameters not honoured this time although they are among the capabilities. `note`: a sentence for the
        caller.
        """
        ...

    async def probe(self) -> str | None:
        """None when healthy, else one sentence saying what the operator must do. Never raises."""
        ...


class WebEngine(Protocol):
    """Extracts, crawls and maps: the embedded engine, or the search provider's own endpoints.

    In all three answers `response_time` is in seconds, `truncated` is True or absent (a budget cut something), and
    `note` is one or more sentences for the caller. All raise GatewayError when nothing can be answered at all.
    """

    async def extract(self, request: ExtractRequest, call: WebCall) -> Json:
        """`{results, failed_results, response_time, truncated?, note?}`; each URL succeeds or fails by itself.

        `results`: `[{url, title, raw_content, images?, favicon?}]`, `url` as the caller wrote it and `raw_content` in
        `request.format`. `failed_results`: `[{url, error}]`, `error` a sentence.
        """
        ...

    async def crawl(self, request: CrawlRequest, call: WebCall) -> Json:
        """`{base_url, results, failed_results, response_time, truncated?, note?}`.

        `results`: `[{url, title, raw_content, depth?, favicon?}]`; the root has depth 0, and providers that do not
        report depths leave it out. `failed_results` as for `extract`.
        """
        ...

    async def map(self, request: CrawlRequest, call: WebCall) -> Json:
        """`{base_url, results, response_time, truncated?, note?}`; `results` is a list of URL strings."""
        ...


class CompletionUpstream(Protocol):
    """One OpenAI-compatible upstream of one model.

    `body` is a chat-completions body (or a responses body for `route="responses"`) in the upstream's own terms.
    Answers are returned as the upstream sent them; `wire` brings them into normal form. `stats.upstream_s` grows by
    the seconds spent waiting for the upstream.
    """

    @property
    def name(self) -> str:
        """What logs and `provider_specific_fields.provider` show; never holds a key."""
        ...

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        """The decoded JSON object of a whole answer. Raises UpstreamError or one of its subclasses."""
        ...

    def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions", relay: Relay | None = None
    ) -> AsyncGenerator[list[bytes], None]:
        """The `data` of the events of one network read at a time, `[DONE]` included, but for what an open `relay` has
        taken. Who changes the data hands no relay on.

        Returns when the connection ends, complete or not: the caller checks that the answer is complete. Raises
        UpstreamError, also after the first events.
        """
        ...


class ChatModel(Protocol):
    """The gateway's own language model, for the guardrail and for reading crawl instructions."""

    async def ask(self, body: Json, timeout_s: float) -> Json:
        """A `chat.completion` object for a chat body without `model`. Raises GatewayError.

        The answer is not sanitized. UpstreamTimeout after `timeout_s` seconds.
        """
        ...


class OwnUseCounter(Protocol):
    """Counts calls of models that the gateway makes by itself for a key; implemented by `access.budgets.OwnUse`."""

    def charged(self, stats: RequestStats) -> AbstractAsyncContextManager[None]:
        """Around one call, for the key named in `stats`."""
        ...


class ToolServer(Protocol):
    """A server of tools, for one answer of a model."""

    async def tools(self) -> list[Json]:
        """`[{name, description?, inputSchema, annotations?}]`, as the server tells them. Raises GatewayError."""
        ...

    async def call(self, name: str, arguments: Json) -> tuple[str, bool]:
        """A tool's result as text, and whether the tool calls it an error. Raises GatewayError."""
        ...

    async def close(self) -> None:
        """Ends what the server keeps for this answer. Never raises."""
        ...


class ImageSource(Protocol):
    """Fetches an image that the caller named; never from a private address unless the configuration allows it."""

    async def fetch_image(self, url: str, max_bytes: int) -> bytes:
        """The file's bytes. Raises InvalidRequest when the URL is refused, unreachable, or too large."""
        ...


class PagePictures(Protocol):
    """Draws the pages of PDF and TIFF files, where a hostile one harms nothing else."""

    async def picture(self, body: bytes, number: int, owner: str) -> PagePicture:
        """Page `number`, counted from 1, for the key `owner`. Raises InvalidRequest for a damaged document and a page
        that there is not, EngineMissing, Overloaded."""
        ...


class PictureOcr(Protocol):
    """Reads pictures for other parts of the gateway."""

    async def text_of(self, url: str, owner: str, *, plain: bool) -> PictureText:
        """The text of one picture, a data URL, as Markdown or without its signs. Raises GatewayError."""
        ...
