"""Why one page could not be had: the engine's failures, worded for the agent that asked.

A reason never tells an open port from a closed one, nor a private name from one that does not exist: the fetcher must
not serve as a scanner of the network it runs in.
"""

from gateway.errors import InvalidRequest

NO_ANSWER = "no web page could be read from this host and port (no answer in time, or not a web server)"
NOT_PUBLIC = "this address is not public, or the host name does not exist; only public web pages can be fetched"


class FetchFailed(InvalidRequest):
    """One URL's failure. `code` is one of url_refused, unreachable, http_status, too_large, unsupported_type,
    timeout, redirects, robots, unparsable; `http_status` is the page's own status, 0 when there was none."""

    code = "unreachable"

    def __init__(
        self, message: str, code: str = "unreachable", *, http_status: int = 0, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, param="url", code=code, retry_after_s=retry_after_s)
        self.http_status = http_status


class SkippedUrl(FetchFailed):
    """A URL the gateway may not fetch: not public, not http(s), or malformed."""

    def __init__(self, message: str = NOT_PUBLIC) -> None:
        super().__init__(message, "url_refused")
