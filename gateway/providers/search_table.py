"""The remote search providers by their names in `search.provider`: our own, and those of installed packages."""

from collections.abc import Mapping
from types import MappingProxyType

from gateway.config.search_providers import load_adapter
from gateway.providers.brave import Brave
from gateway.providers.exa import Exa
from gateway.providers.linkup import Linkup
from gateway.providers.perplexity import Perplexity
from gateway.providers.search import SearchAdapter
from gateway.providers.searxng import Searxng
from gateway.providers.serper import Serper
from gateway.providers.tavily import Tavily

REMOTE_PROVIDERS: Mapping[str, type[SearchAdapter]] = MappingProxyType(
    {adapter.name: adapter for adapter in (Tavily, Searxng, Brave, Exa, Serper, Linkup, Perplexity)}
)


def adapter_called(name: str) -> type[SearchAdapter]:
    """The adapter of a name that the configuration allows. Raises UnusableProviderError for any other."""
    adapter: type[SearchAdapter] = REMOTE_PROVIDERS.get(name) or load_adapter(name)
    return adapter
