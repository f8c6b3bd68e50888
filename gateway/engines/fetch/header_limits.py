"""The limits of response headers, and how to recognise an answer that exceeds them. Knows no URL and no error text.

aiohttp reports an answer whose headers are too large as it reports any damaged one. Whoever runs the server must be
told which it is: a damaged answer is a fault, large headers are often a cookie or a policy that grew.
"""

from aiohttp.http_exceptions import BadHttpMessage, LineTooLong

MAX_HEADERS = 128
"""aiohttp's own default, stated here for the error texts."""

MAX_FIELD_BYTES = 32_768
"""Of one field. Chosen: four times aiohttp's 8,190, as some sites send that much of cookies and policies; double would
let 128 fields hold 8 MB."""

_TOO_MANY = "too many headers"
"""aiohttp's words for it, which has no class of its own (read in 3.14.5; a test sends such an answer)."""


def are_headers_too_large(error: BaseException | None) -> bool:
    """Whether aiohttp raised `error`, or what caused it, over the size or number of the headers."""
    while error is not None:
        if isinstance(error, LineTooLong):
            return True
        if isinstance(error, BadHttpMessage) and _TOO_MANY in error.message.lower():
            return True
        error = error.__cause__ or error.__context__
    return False
