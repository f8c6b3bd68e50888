"""Typed names under which things hang on the application and the request. Constants only, never string keys."""

from aiohttp.helpers import RequestKey

from gateway.model import Account, Caller, Json

REQUEST_ID = RequestKey("request_id", str)
CALLER = RequestKey("caller", Caller)
ACCOUNT = RequestKey("account", Account)
BODY: RequestKey[Json] = RequestKey("body", dict)
STARTED = RequestKey("started", float)
