"""Typed names under which things hang on the request. Constants only, never string keys."""

from typing import Any

from aiohttp.helpers import RequestKey

from gateway.model import Account, Caller

REQUEST_ID = RequestKey("request_id", str)
CALLER = RequestKey("caller", Caller)
ACCOUNT = RequestKey("account", Account)
BODY: RequestKey[Any] = RequestKey("body", object)
"""The request's decoded and checked body: what `Endpoint.check` returned."""
CHARGE: RequestKey[Any] = RequestKey("charge", object)
"""`async () -> None`: charges one more call to the key's minute. Raises RateLimited."""
