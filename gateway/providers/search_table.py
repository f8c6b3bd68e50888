"""The remote search providers by their names in `search.provider`: one row makes a provider known to the gateway."""

from collections.abc import Mapping
from types import MappingProxyType

from gateway.providers.brave import Brave
from gateway.providers.exa import Exa
from gateway.providers.search import SearchAdapter
from gateway.providers.searxng import Searxng
from gateway.providers.serper import Serper
from gateway.providers.tavily import Tavily

REMOTE_PROVIDERS: Mapping[str, type[SearchAdapter]] = MappingProxyType(
    {adapter.name: adapter for adapter in (Tavily, Searxng, Brave, Exa, Serper)}
)
