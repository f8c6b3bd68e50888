"""The rules of the configuration that span several keys, which its JSON Schema cannot express.

Checks that files named by the configuration can be used, and opens nothing else.
"""

import ipaddress
import re
import ssl
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import re2

from gateway.config.search_providers import NEEDED, UnusableProviderError, load_adapter
from gateway.config.settings import ENTITIES, Config
from gateway.domain import EMBEDDING_MODEL, OCR_MODEL, OWN_TOOLS_LABEL, TEXT_MODEL, WEB_TOOLS

_EMBEDDED_KINDS = {TEXT_MODEL: "text", OCR_MODEL: "ocr", EMBEDDING_MODEL: "embedding"}

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::\d{1,5})?")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,80}")
"""A token, as RFC 9110 has names of fields."""
_OWN_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding"})


def contradictions(config: Config) -> Iterator[tuple[str, str]]:
    """Every broken rule as (key path, message); none for a configuration that can be served."""
    yield from _model_contradictions(config)
    yield from _search_contradictions(config)
    yield from _mcp_contradictions(config)
    yield from _address_contradictions(config)
    yield from _sanitize_contradictions(config)
    yield from _missing_files(config)
    yield from _shared_contradictions(config)
    yield from _price_contradictions(config)
    yield from _egress_contradictions(config)


def _search_contradictions(config: Config) -> Iterator[tuple[str, str]]:
    search = config.search
    used = dict.fromkeys(search.fallback, "search.fallback") | dict.fromkeys(search.providers, "search.provider")
    for name, named_by in used.items():
        try:
            if name not in NEEDED:
                load_adapter(name)
        except UnusableProviderError as error:
            yield named_by, str(error)
    for name in search.providers:
        key, engine = NEEDED.get(name, ""), search.engine(name)
        if key and not getattr(engine, key):
            wish = "the address of your instance" if key == "base_url" else '{ credential = "NAME" }'
            where = "search" if engine is search else f"search.{name}"
            yield f"{where}.{key}", f'provider "{name}" needs {wish}'
    for name in [each for each in search.engines if each not in used]:
        yield f"search.{name}", f"neither search.provider nor search.fallback names it; they name: {', '.join(used)}"
    if search.engine(search.providers[0]) is not search:
        for key in ("base_url", "api_key", "proxy", "proxy_auth", "ca_file"):
            if getattr(search, key):
                yield f"search.{key}", f"belongs to one provider: write it into [search.{search.providers[0]}]"
    if config.web.engine == "provider" and "tavily" not in search.providers:
        yield "web.engine", '"provider" needs "tavily" in search.provider; allowed otherwise: "local"'
    if config.index.backend == "postgres" and config.index.postgres_url is None:
        yield "index.postgres_url", 'backend "postgres" needs { credential = "NAME" }'


def _mcp_contradictions(config: Config) -> Iterator[tuple[str, str]]:
    labels = [OWN_TOOLS_LABEL]
    for index, server in enumerate(config.mcp_servers):
        if server.label in labels:
            yield f"mcp_servers[{index}].label", f"'{server.label}' is already the label of another server"
        labels.append(server.label)


def _address_contradictions(config: Config) -> Iterator[tuple[str, str]]:
    if config.ops.port and (config.ops.host, config.ops.port) == (config.server.host, config.server.port):
        yield "ops.port", "must differ from server.port"
    for index, entry in enumerate(config.server.trusted_proxies):
        if not _is_network(entry):
            yield f"server.trusted_proxies[{index}]", "must be an address, or a network like 10.0.0.0/8"
    for index, named in enumerate(config.web.hosts):
        if not _HOST.fullmatch(named.host):
            yield f"web.hosts[{index}].host", "must be a host name, or host:port, in lower case"
        for name in named.headers:
            if not _HEADER.fullmatch(name) or name.lower() in _OWN_HEADERS:
                yield f"web.hosts[{index}].headers.{name}", "must be the name of a header that the fetcher does not set"
    for index, entry in enumerate(config.web.allow_private):
        if not _is_private_entry(entry):
            yield f"web.allow_private[{index}]", "must be an exact host:port, or a network like 10.0.0.0/8"


def _sanitize_contradictions(config: Config) -> Iterator[tuple[str, str]]:
    for index, custom in enumerate(config.sanitize.patterns):
        if message := _pattern_problem(custom.pattern):
            yield f"sanitize.patterns[{index}].pattern", message
    entities = (*ENTITIES, *(custom.entity for custom in config.sanitize.patterns))
    for direction in ("requests", "responses"):
        for entity in getattr(config.sanitize.actions, direction):
            if entity not in entities:
                yield f"sanitize.actions.{direction}.{entity}", f"is not an entity; allowed: {', '.join(entities)}"


def _shared_contradictions(config: Config) -> Iterator[tuple[str, str]]:
    if config.shared.redis_url is None:
        if config.access.backend == "redis":
            yield "access.backend", '"redis" needs shared.redis_url = { credential = "NAME" }'
        if config.shared.machines > 1:
            yield "shared.machines", 'several machines need shared.redis_url = { credential = "NAME" }'


def _egress_contradictions(config: Config) -> Iterator[tuple[str, str]]:
    for path, settings in config.egresses():
        for name in ("base_url", "url", "proxy"):
            if (address := getattr(settings, name, "")) and not _has_host(address):
                yield f"{path}.{name}", "must name a host and, if any, a port from 1 to 65535"
        if settings.proxy_auth is not None:
            if not settings.proxy:
                yield f"{path}.proxy_auth", f"needs {path}.proxy"
            if ":" not in settings.proxy_auth.reveal():
                yield f"{path}.proxy_auth", "must hold USER:PASSWORD"
        if settings.ca_file:
            try:
                ssl.create_default_context(cafile=settings.ca_file)
            except OSError as error:
                reason = "holds no PEM certificates" if isinstance(error, ssl.SSLError) else error.strerror
                yield f"{path}.ca_file", f"{settings.ca_file} cannot be used: {reason}"


def _has_host(address: str) -> bool:
    """Whether a URL leads to a host, and to a port that there can be."""
    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _price_contradictions(config: Config) -> Iterator[tuple[str, str]]:
    """A price belongs to something that exists, there is one for each, and all are in one currency."""
    known = {*_EMBEDDED_KINDS, *WEB_TOOLS, *(model.name for model in config.models)}
    known |= {f"mcp:{server.label}" for server in config.mcp_servers}
    seen: set[str] = set()
    for index, price in enumerate(config.prices):
        if price.model not in known:
            yield f"prices[{index}].model", _unknown_model(price.model, known)
        if price.model in seen:
            yield f"prices[{index}].model", f"'{price.model}' has a price already"
        if price.currency != config.prices[0].currency:
            yield f"prices[{index}].currency", f"must be {config.prices[0].currency}, as the first price is"
        seen.add(price.model)


def _missing_files(config: Config) -> Iterator[tuple[str, str]]:
    own_model = config.local_llm.model if config.local_llm.enabled else ""
    if own_model and not (config.state_dir / own_model).is_file():
        yield "local_llm.model", "no such file; give a path below the state directory, or an absolute one"
    if config.server.tls:
        for name in ("cert", "key"):
            if not Path(getattr(config.server.tls, name)).is_file():
                yield f"server.tls.{name}", "no such file; give a path below the state directory, or an absolute one"


def _model_contradictions(config: Config) -> Iterator[tuple[str, str]]:
    """Names are unique, and every name that another key mentions exists."""
    seen: dict[str, str] = {}
    for index, model in enumerate(config.models):
        where = f"models[{index}]"
        for key, name in [("name", model.name), *(("aliases", alias) for alias in model.aliases)]:
            if name in seen:
                yield f"{where}.{key}", f"'{name}' is already the name of {seen[name]}"
            seen[name] = where
            if not name.strip("*"):
                yield f"{where}.{key}", "a bare * would take every name; write what it begins with, as in claude-*"
        if model.list_models and not any("*" in name for name in (model.name, *model.aliases)):
            yield f"{where}.list_models", "lists what a wildcard stands for; give the model a name such as claude-*"
    for index, model in enumerate(config.models):
        if not model.upstreams and model.name not in _EMBEDDED_KINDS:
            yield f"models[{index}].upstreams", "needs at least one upstream"
        shown = [upstream.name or f"upstream-{number}" for number, upstream in enumerate(model.upstreams, 1)]
        for position, name in enumerate(shown):
            if name in shown[:position]:
                yield f"models[{index}].upstreams[{position}].name", f"'{name}' is already the name of another"
        for name in model.fallback:
            if name not in seen and name not in _EMBEDDED_KINDS:
                yield f"models[{index}].fallback", _unknown_model(name, seen)
            elif (other := _kind_of(name, config)) != model.kind and "embedding" in (other, model.kind):
                yield f"models[{index}].fallback", f"'{name}' is of kind {other}, this model of kind {model.kind}"
    chosen = config.web.instructions_model
    if chosen and chosen not in seen and chosen != TEXT_MODEL:
        yield "web.instructions_model", _unknown_model(chosen, seen)
    judge = config.guardrail.model
    if config.guardrail.enabled == "on" and judge not in seen and judge != TEXT_MODEL:
        yield "guardrail.model", _unknown_model(judge, seen)


def _kind_of(name: str, config: Config) -> str:
    """The kind of a model by its name or an alias. Embedded engines have theirs whatever is configured of them."""
    kinds = {each: model.kind for model in config.models for each in (model.name, *model.aliases)}
    return kinds.get(name, _EMBEDDED_KINDS.get(name, "text"))


def _unknown_model(name: str, known: Iterable[str]) -> str:
    return f"unknown model '{name}'; known: {', '.join(sorted(known)) or TEXT_MODEL}"


def _is_private_entry(entry: str) -> bool:
    """Whether `entry` is a network in CIDR notation or an exact host:port."""
    if "/" in entry:
        return _is_network(entry)
    host, colon, port = entry.rpartition(":")
    return bool(host and colon and port.isdigit() and 0 < int(port) < 65536)


def _is_network(entry: str) -> bool:
    """Whether `entry` is an IP address or a network in CIDR notation."""
    try:
        ipaddress.ip_network(entry)
    except ValueError:
        return False
    return True


def _pattern_problem(pattern: str) -> str:
    """What is wrong with an operator's pattern; empty when it can be used."""
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error:
        return "is not a valid RE2 pattern; RE2 has no look-around and no back-references"
    return "must not match the empty text" if compiled.search("") else ""
