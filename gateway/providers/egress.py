"""How requests leave for one upstream, search provider or MCP server: through which proxy, and whom TLS trusts.

The operator chooses both; no request and no variable of the environment does. For https the proxy is asked for a
tunnel (CONNECT, RFC 9110 section 9.3.6) and sees neither the key nor the request; for http it sees both. The
connection to the proxy itself is TLS where its address begins with https; the tunnel is TLS within TLS then, which
asyncio can since Python 3.11, and uvloop. The web fetcher uses none of this: it connects to addresses that it has
checked itself.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import aiohttp
from yarl import URL

from gateway.config.settings import Secret
from gateway.engines.fetch.bounded_connector import BoundedConnector


@dataclass(frozen=True, slots=True)
class Egress:
    """`proxy`: its `http://HOST:PORT` or `https://HOST:PORT`, empty = none; `proxy_auth`: `USER:PASSWORD` for it.
    `ca_file`: PEM file of the authorities that are trusted, for the proxy too, instead of the system's; empty = those.
    """

    proxy: str = ""
    proxy_auth: str = field(default="", repr=False)
    ca_file: str = ""

    def open_session(self, connector: Mapping[str, Any], **settings: Any) -> aiohttp.ClientSession:
        """A session without cookies that leaves this way; `connector`: settings of its connections. Raises OSError and
        ssl.SSLError, one of them, when the file cannot be used."""
        trusted = ssl.create_default_context(cafile=self.ca_file) if self.ca_file else True
        proxy = URL(self.proxy) if self.proxy else None
        if proxy is not None and self.proxy_auth:  # aiohttp sends them as Proxy-Authorization, to the proxy alone
            user, _, password = self.proxy_auth.partition(":")
            proxy = proxy.with_user(user).with_password(password)
        return aiohttp.ClientSession(
            connector=BoundedConnector(ssl=trusted, **connector),
            proxy=proxy,
            trust_env=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            **settings,
        )


DIRECT = Egress()
"""No proxy, and the system's authorities."""


class EgressSettings(Protocol):
    """The settings of an upstream, of the search provider or of an MCP server that say how requests leave for it."""

    @property
    def proxy(self) -> str: ...
    @property
    def proxy_auth(self) -> Secret | None: ...
    @property
    def ca_file(self) -> str: ...


def egress_of(settings: EgressSettings) -> Egress:
    """What those settings say."""
    secret = settings.proxy_auth.reveal() if settings.proxy_auth else ""
    return Egress(settings.proxy, secret, settings.ca_file)
