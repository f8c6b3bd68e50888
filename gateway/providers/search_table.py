"""The remote search providers by their names in `search.provider`: one row makes a provider known to the gateway."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from gateway.providers.brave import Brave
from gateway.providers.exa import Exa
from gateway.providers.http import Egress
from gateway.providers.searxng import Searxng
from gateway.providers.serper import Serper
from gateway.providers.tavily import Tavily

RemoteSearch = Tavily | Searxng | Brave | Exa | Serper

REMOTE_PROVIDERS: Mapping[str, Callable[[str, str, float, Egress], RemoteSearch]] = MappingProxyType(
    {
        "tavily": Tavily,
        "searxng": Searxng,
        "brave": Brave,
        "exa": Exa,
        "serper": Serper,
    }
)
"""Each makes a provider of a key, an address (empty: its public one), a time limit for searches in seconds, and
how requests leave for it."""
