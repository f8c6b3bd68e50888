"""From a TOML file to a checked Config.

The file is checked against schemas/config.json, then by the rules a schema cannot say. Secrets never stand in the
file: `{ credential = "NAME" }` is read from `$CREDENTIALS_DIRECTORY/NAME` (systemd LoadCredential), else from
`GATEWAY_CREDENTIAL_NAME`. Overrides: GATEWAY_HOST, GATEWAY_PORT, GATEWAY_LOG_LEVEL. Nothing here opens a port.
"""

import ipaddress
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import re2

from gateway import schemas
from gateway.config.environment import Environment
from gateway.config.settings import ENTITIES, Config, Secret, Tls
from gateway.schemas.messages import Problem

Section = TypeVar("Section")

_VARIABLES = {"server.host": "GATEWAY_HOST", "server.port": "GATEWAY_PORT", "log.level": "GATEWAY_LOG_LEVEL"}
"""Keys that a variable overrides."""


class ConfigError(Exception):
    """`FILE: key.path: what is wrong and what is allowed`. Never holds a secret's value."""

    def __init__(self, source: str, path: str, message: str) -> None:
        super().__init__(f"{source}: {path}: {message}" if path else f"{source}: {message}")
        self.path = path


def load_config(path: Path | None, state_dir: Path | None, environment: Environment) -> Config:
    """The configuration in `path`, or the embedded profile when it is None. Raises ConfigError."""
    source = str(path) if path else "environment"
    document = _read(path) if path else {}
    _apply_overrides(document, environment)
    for problem in schemas.Checker(schemas.load("config")).check(document, limit=1):
        variable = _VARIABLES.get(problem.path, "")
        place = variable if environment.variables.get(variable) else source
        raise ConfigError(place, problem.path, _as_written(problem))
    loader = _Loader(source, environment)
    config = loader.section(Config, {**document, "state_dir": state_dir or environment.state_dir}, "")
    if config.server.tls is not None:
        config = replace(config, server=replace(config.server, tls=_under(config.state_dir, config.server.tls)))
    for where, message in _contradictions(config):
        raise ConfigError(source, where, message)
    return config


def _as_written(problem: Problem) -> str:
    """What is wrong, in the words of a TOML file where a schema's would not help."""
    if problem.path.endswith((".api_key", ".redis_url")) and problem.message == "must be an object":
        return 'must be { credential = "NAME" }: secrets never stand in the file'
    return problem.message


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(str(path), "", f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(str(path), "", "is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), "", f"is not valid TOML: {error}") from None


def _under(folder: Path, tls: Tls) -> Tls:
    """Relative paths stand under the state directory."""
    return Tls(str(folder / tls.cert), str(folder / tls.key))


def _apply_overrides(document: dict[str, Any], environment: Environment) -> None:
    for path, variable in _VARIABLES.items():
        section, key = path.split(".")
        value: Any = environment.variables.get(variable)
        if value:
            table = document.setdefault(section, {})
            if isinstance(table, dict):
                table[key] = int(value) if key == "port" and value.isdigit() else value


class _Loader:
    """Fills dataclasses from checked tables by their annotations."""

    def __init__(self, source: str, environment: Environment) -> None:
        self._source = source
        self._environment = environment

    def section(self, kind: type[Section], table: Mapping[str, Any], path: str) -> Section:
        hints = get_type_hints(kind)
        values = {}
        for name, value in table.items():
            values[name] = self._value(hints[name], value, f"{path}.{name}" if path else name)
        return kind(**values)

    def _value(self, hint: Any, value: Any, path: str) -> Any:
        if get_origin(hint) is UnionType:
            hint = next(option for option in get_args(hint) if option is not type(None))
        if hint is Secret:
            return self._secret(str(value["credential"]), path)
        if is_dataclass(hint):
            return self.section(cast("type[Any]", hint), value, path)
        if get_origin(hint) is tuple:
            item = get_args(hint)[0]
            return tuple(self._value(item, each, f"{path}[{index}]") for index, each in enumerate(value))
        return float(value) if hint is float else value

    def _secret(self, name: str, path: str) -> Secret:
        value = self._environment.credential(name)
        if not value:
            variable = "GATEWAY_CREDENTIAL_" + name.upper().replace("-", "_")
            raise ConfigError(
                self._source,
                path,
                f"credential '{name}' is missing: LoadCredential={name}:FILE in the unit, or {variable}",
            )
        return Secret(name, value)


def _contradictions(config: Config) -> Iterator[tuple[str, str]]:
    """Rules over several keys, as (key path, message)."""
    yield from _model_contradictions(config)
    if config.search.provider in ("tavily", "brave") and config.search.api_key is None:
        yield "search.api_key", f'provider "{config.search.provider}" needs {{ credential = "NAME" }}'
    if config.search.provider == "searxng" and not config.search.base_url:
        yield "search.base_url", 'provider "searxng" needs the address of your instance'
    if config.web.engine == "provider" and config.search.provider != "tavily":
        yield "web.engine", '"provider" needs search.provider = "tavily"; allowed otherwise: "local"'
    if config.ops.port and (config.ops.host, config.ops.port) == (config.server.host, config.server.port):
        yield "ops.port", "must differ from server.port"
    for index, entry in enumerate(config.web.allow_private):
        if not _is_private_entry(entry):
            yield f"web.allow_private[{index}]", "must be an exact host:port, or a network like 10.0.0.0/8"
    for index, custom in enumerate(config.sanitize.patterns):
        if message := _pattern_problem(custom.pattern):
            yield f"sanitize.patterns[{index}].pattern", message
    entities = (*ENTITIES, *(custom.entity for custom in config.sanitize.patterns))
    for direction in ("requests", "responses"):
        for entity in getattr(config.sanitize.actions, direction):
            if entity not in entities:
                yield f"sanitize.actions.{direction}.{entity}", f"is no entity; allowed: {', '.join(entities)}"
    own_model = config.local_llm.model if config.local_llm.enabled else ""
    if own_model and not (config.state_dir / own_model).is_file():
        yield "local_llm.model", "no such file"
    if config.server.tls:
        for name in ("cert", "key"):
            if not Path(getattr(config.server.tls, name)).is_file():
                yield f"server.tls.{name}", "no such file"


def _model_contradictions(config: Config) -> Iterator[tuple[str, str]]:
    seen: dict[str, str] = {}
    for index, model in enumerate(config.models):
        where = f"models[{index}]"
        for key, name in [("name", model.name), *(("aliases", alias) for alias in model.aliases)]:
            if name in seen:
                yield f"{where}.{key}", f"'{name}' is already the name of {seen[name]}"
            seen[name] = where
    embedded = {"SvcLLM", "SvcOCR"}
    for index, model in enumerate(config.models):
        if not model.upstreams and model.name not in embedded:
            yield f"models[{index}].upstreams", "needs at least one upstream"
        for name in model.fallback:
            if name not in seen and name not in embedded:
                yield f"models[{index}].fallback", f"unknown model '{name}'; known: {', '.join(sorted(seen))}"
    meant = config.web.instructions_model
    if meant and meant not in seen and meant != "SvcLLM":
        yield "web.instructions_model", f"unknown model '{meant}'; known: {', '.join(sorted(seen)) or 'SvcLLM'}"
    if config.guardrail.enabled == "on" and config.guardrail.model not in seen and config.guardrail.model != "SvcLLM":
        yield (
            "guardrail.model",
            f"unknown model '{config.guardrail.model}'; known: {', '.join(sorted(seen)) or 'SvcLLM'}",
        )


def _is_private_entry(entry: str) -> bool:
    if "/" in entry:
        try:
            ipaddress.ip_network(entry)
        except ValueError:
            return False
        return True
    host, colon, port = entry.rpartition(":")
    return bool(host and colon and port.isdigit() and 0 < int(port) < 65536)


def _pattern_problem(pattern: str) -> str:
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error:
        return "is not a valid RE2 pattern (no look-around, no back-references)"
    return "must not match the empty text" if compiled.search("") else ""
