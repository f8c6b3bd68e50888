"""Finds the API key of a request."""

from aiohttp import hdrs
from multidict import MultiMapping, istr

from gateway.errors import InvalidRequest

_API_KEY = istr("X-Api-Key")
"""Where clients of Anthropic's interface send the key; it is taken on every route."""
_NONE = ("",)
"""The values of a header that was not sent."""


def presented_key(headers: MultiMapping[str]) -> str:
    """The key that was sent. Raises Unauthenticated where there is none, InvalidRequest.

    It is in `Authorization` or in `X-Api-Key`, or the same in both. Two headers of one name are refused whatever
    they hold, and two keys that differ: different programs on the way could go by different ones.
    """
    sent = headers.getall(hdrs.AUTHORIZATION, _NONE)
    if len(sent) > 1:
        raise InvalidRequest("more than one Authorization header; send one")
    scheme, _, presented = sent[0].partition(" ")
    presented = presented.strip() if scheme.lower() == "bearer" else ""
    if _API_KEY not in headers:
        return presented
    sent_apart = headers.getall(_API_KEY)
    if len(sent_apart) > 1:
        raise InvalidRequest(f"more than one {_API_KEY} header; send one")
    presented_apart = sent_apart[0].strip()
    if sent[0] and sent_apart[0] and presented != presented_apart:
        raise InvalidRequest(f"the Authorization and {_API_KEY} headers differ; send one of them")
    return presented_apart or presented


def missing_key(authorization: str) -> str:
    """What is wrong with a header that has no key where one should be; no part of it is repeated."""
    want = "send the header 'Authorization: Bearer <API key>'"
    if not authorization:
        return f"no API key was sent; {want}"
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return f"no API key follows 'Bearer' (an empty variable?); {want}"
    return f"the Authorization header does not begin with 'Bearer '{' but with another scheme' if rest else ''}; {want}"
