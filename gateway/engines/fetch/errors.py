"""The web engine's failures for one URL and for one body, worded for the agent that asked.

A reason never distinguishes an open port from a closed one, so nobody can use the fetcher to scan the network that it
runs in. A name that only private networks use is refused in the same words whether it exists or not.
"""

from gateway.errors import InvalidRequest

NO_ANSWER = "no web page could be read from this host and port (no answer in time, or not a web server)"
NOT_PUBLIC = (
    "this address is not public; only public web pages can be fetched, and addresses that the operator allows "
    "(web.allow_private)"
)
NO_SUCH_HOST = "the host name does not exist; check its spelling"
NO_NAME_SERVER = "the host name could not be looked up, as no name server answered; try again later"


class FetchFailed(InvalidRequest):
    """The failure of one URL.

    `code` is one of `url_refused unreachable http_status too_large unsupported_type timeout redirects robots unparsable
    empty scripted unreadable`. `http_status` is the page's own status, 0 when there was none. `retry_after_s` is the
    pause that the host asked for, in seconds, or None.
    """

    code = "unreachable"

    def __init__(
        self, message: str, code: str = "unreachable", *, http_status: int = 0, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, param="url", code=code, retry_after_s=retry_after_s)
        self.http_status = http_status


class Unreadable(InvalidRequest):
    """A page or file, fetched or sent, cannot be read. `code` is one of `unparsable too_large unsupported_type`."""

    def __init__(self, message: str, code: str = "unparsable") -> None:
        super().__init__(message, code=code)


class SkippedUrl(FetchFailed):
    """A URL that the gateway must not fetch: not public, not http(s), or malformed. Its code is `url_refused`."""

    def __init__(self, message: str = NOT_PUBLIC) -> None:
        super().__init__(message, "url_refused")
