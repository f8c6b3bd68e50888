"""Reads a TOML file into a checked `Config`.

The file is checked against schemas/config.json first, then against the rules over several keys (`contradictions`).
Secrets are never in the file: `{ credential = "NAME" }` is looked up in the environment. The variables GATEWAY_HOST,
GATEWAY_PORT and GATEWAY_LOG_LEVEL override the file. Opens no port and no connection.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from gateway import schemas
from gateway.config.certificate import read_certificate
from gateway.config.config_error import ConfigError
from gateway.config.contradictions import contradictions
from gateway.config.environment import Environment, credential_variable
from gateway.config.server_settings import Secret, Tls
from gateway.config.settings import Config
from gateway.schemas.messages import Problem

Section = TypeVar("Section")

_VARIABLES = {
    "server.host": "GATEWAY_HOST",
    "server.port": "GATEWAY_PORT",
    "ops.port": "GATEWAY_OPS_PORT",
    "log.level": "GATEWAY_LOG_LEVEL",
}
"""The configuration keys that an environment variable overrides, and its name."""


def load_config(path: Path | None, state_dir: Path | None, environment: Environment) -> Config:
    """The configuration in the file `path`, or the embedded profile when it is None.

    `state_dir`: where relative paths begin; by default `environment.state_dir`. Raises ConfigError for the first fault.
    """
    source = str(path) if path else "environment"
    document = _parse_file(path) if path else {}
    _apply_overrides(document, environment)
    for problem in schemas.Checker(schemas.load("config")).check(document, limit=1):
        variable = _VARIABLES.get(problem.path, "")
        fault_in = variable if environment.variables.get(variable) else source
        raise ConfigError(fault_in, problem.path, _message(problem))
    loader = _Loader(source, environment)
    config = loader.section(Config, {**document, "state_dir": state_dir or environment.state_dir}, "")
    if config.server.tls is not None:
        config = replace(config, server=replace(config.server, tls=_absolute(config.state_dir, config.server.tls)))
    for where, message in contradictions(config):
        raise ConfigError(source, where, message)
    return _with_certificate(config, source)


def _with_certificate(config: Config, source: str) -> Config:
    """The same, with what the files of `server.tls` hold. Raises ConfigError."""
    if config.server.tls is None:
        return config
    try:
        return replace(config, server=replace(config.server, tls=read_certificate(config.server.tls)))
    except OSError as error:
        raise ConfigError(source, "server.tls", str(error)) from None


_SECRETS = (".api_key", ".proxy_auth", ".redis_url", ".postgres_url", ".seal")


def _message(problem: Problem) -> str:
    """The schema's message, or a clearer one for a secret that is written as a string."""
    is_secret = problem.path.endswith(_SECRETS) or ".headers." in problem.path
    if is_secret and problem.message.startswith("must be an object"):
        return 'must be { credential = "NAME" }: a secret may not stand in the file'
    return problem.message


def _parse_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(str(path), "", f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(str(path), "", "is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), "", f"is not valid TOML: {error}") from None


def _absolute(folder: Path, tls: Tls) -> Tls:
    """The same files, with relative paths resolved below `folder`."""
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
    """Builds the dataclasses of `settings` from checked TOML tables, following their annotations."""

    def __init__(self, source: str, environment: Environment) -> None:
        self._source = source
        self._environment = environment

    def section(self, kind: type[Section], table: Mapping[str, Any], path: str) -> Section:
        """A `kind` with the values of `table` and defaults for the rest. Raises ConfigError below `path`."""
        hints = get_type_hints(kind)
        values = {}
        for name, value in table.items():
            values[name] = self._value(hints[name], value, f"{path}.{name}" if path else name)
        return kind(**values)

    def _value(self, hint: Any, value: Any, path: str) -> Any:
        if get_origin(hint) is UnionType:
            options = [option for option in get_args(hint) if option is not type(None)]
            hint = bool if bool in options and isinstance(value, bool) else next(o for o in options if o is not bool)
        if hint is Secret:
            return self._secret(str(value["credential"]), path)
        if is_dataclass(hint):
            return self.section(cast("type[Any]", hint), value, path)
        if get_origin(hint) is tuple:
            item = get_args(hint)[0]
            return tuple(self._value(item, each, f"{path}[{index}]") for index, each in enumerate(value))
        if get_origin(hint) is Mapping and get_args(hint)[1] is Secret:
            return {name: self._secret(str(each["credential"]), f"{path}.{name}") for name, each in value.items()}
        return float(value) if hint is float else value

    def _secret(self, name: str, path: str) -> Secret:
        value = self._environment.credential(name)
        if value == "":
            remedy = "write the secret into the file that LoadCredential= of the unit names"
            raise ConfigError(self._source, path, f"credential '{name}' is empty; {remedy}")
        if value is None:
            remedy = f"set LoadCredential={name}:FILE in the unit, or the variable {credential_variable(name)}"
            raise ConfigError(self._source, path, f"credential '{name}' is missing; {remedy}")
        return Secret(name, value)
