"""What services need from below, as Protocols: each has a second implementation, so each is a seam worth having.

`app.py` chooses the implementations. Errors raised through a port are `gateway.errors` only; a cancelled call lets go
of its connections at once. JSON shapes are those of the tools' `data` (see schemas/tools/*.json and README).
"""

from collections.abc import AsyncGenerator
from typing import Protocol

from gateway.domain import CrawlRequest, ExtractRequest, Json, RequestStats, SearchRequest, WebCall


class SearchProvider(Protocol):
    """A source of search results: Tavily, SearXNG, Brave, or the local index."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[str]:
        """Names of the SearchRequest fields this provider honours itself; the service makes up for the others."""
        ...

    async def search(self, request: SearchRequest, call: WebCall) -> Json:
        """`{"results": [{title, url, content, score, …}], "images": [...]}`, best first. Raises UpstreamError.

        `"ignored": [names]` tells parameters it could not honour this time though it has the capability,
        `"note"` is a sentence for the caller.
        """
        ...

    async def probe(self) -> str | None:
        """None when healthy, else one sentence saying what the operator must do. Never raises."""
        ...


class WebEngine(Protocol):
    """Extracts, crawls and maps: the embedded engine, or the search provider's own endpoints."""

    async def extract(self, request: ExtractRequest, call: WebCall) -> Json: ...

    async def crawl(self, request: CrawlRequest, call: WebCall) -> Json: ...

    async def map(self, request: CrawlRequest, call: WebCall) -> Json: ...


class CompletionUpstream(Protocol):
    """One OpenAI-compatible upstream of one model. Bodies are chat-completions bodies, already in its own terms.

    Answers come as they were sent: `wire` brings them into normal form.
    """

    @property
    def name(self) -> str: ...

    async def complete(self, body: Json, stats: RequestStats, *, route: str = "chat/completions") -> Json:
        """The decoded answer. Raises UpstreamError."""
        ...

    def stream(
        self, body: Json, stats: RequestStats, *, route: str = "chat/completions"
    ) -> AsyncGenerator[list[bytes], None]:
        """The data of the events of one network read at a time. Ends with the stream, however it ended."""
        ...


class ChatModel(Protocol):
    """The service's own language model, for the guardrail and for reading crawl instructions."""

    async def ask(self, body: Json, timeout_s: float) -> Json:
        """A `chat.completion` answer to a chat body without `model`. Raises GatewayError; never sanitized again."""
        ...


class ImageSource(Protocol):
    """Fetches an image the caller named, safely: never a private address unless the configuration allows it."""

    async def fetch_image(self, url: str, max_bytes: int) -> bytes:
        """Raises InvalidRequest when the URL is refused, unreachable, or too large."""
        ...
