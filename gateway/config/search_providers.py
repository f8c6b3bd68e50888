"""The names that `search.provider` may have: those of the gateway, and those that installed distributions offer as
entry points (packaging.python.org, "Entry points specification", read 2026-11-29)."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

GROUP = "gateway.search_providers"
NEEDED = {
    **dict.fromkeys(("tavily", "brave", "exa", "serper", "linkup", "perplexity"), "api_key"),
    "searxng": "base_url",
    "local": "",
}
"""The gateway's own, and the setting that each cannot do without. An entry point of the same name is not looked at."""
_CALLED = ("search", "probe", "close")
_MAX_REASON_CHARS = 200


class UnusableProviderError(Exception):
    """The text says what is wrong with a name, and what to do."""


def load_adapter(name: str) -> Any:
    """The class that a distribution offers under the name; the import system loads it once. Raises
    UnusableProviderError."""
    offered = entry_points(group=GROUP)
    found = [each for each in offered if each.name == name]
    if not found:
        known = ", ".join((*NEEDED, *sorted(offered.names)))
        raise UnusableProviderError(
            f"unknown provider '{name}'; known: {known}; a package that you install adds others by the entry points "
            f"{GROUP}, see docs/search-providers.md"
        )
    if len(found) > 1:
        both = " and ".join(sorted(map(_distribution, found)))
        raise UnusableProviderError(f"provider '{name}' is offered by {both}; remove one of them")
    try:
        adapter = found[0].load()
    except Exception as error:  # whatever the code of others raises while it is imported
        reason = f"{type(error).__name__}: {error}".partition("\n")[0][:_MAX_REASON_CHARS]
        raise UnusableProviderError(f"{_distribution(found[0])} cannot be loaded: {reason}") from None
    is_class = isinstance(adapter, type) and all(callable(getattr(adapter, each, None)) for each in _CALLED)
    if not is_class or getattr(adapter, "name", "") != name:
        wanted = f"must be a class as gateway.providers.search.SearchAdapter is, of the name '{name}'"
        raise UnusableProviderError(f"{found[0].value} of {_distribution(found[0])} {wanted}")
    return adapter


def _distribution(point: EntryPoint) -> str:
    return f"the distribution {point.dist.name} {point.dist.version}" if point.dist else point.value
