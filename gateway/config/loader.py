"""Reads a TOML file into a checked `Config`.

The file is checked against schemas/config.json first, then against the rules over several keys (`contradictions`).
Secrets are never in the file: `{ credential = "NAME" }` is looked up in the environment. The variables GATEWAY_HOST,
GATEWAY_PORT and GATEWAY_LOG_LEVEL override the file. Opens no port and no connection.

The certificate of `server.tls` is read once with the configuration. What was read goes with the configuration to every
worker, also to one that replaces a dead one later: files that break meanwhile keep nobody from serving, and all workers
serve the same certificate.
"""

import difflib
import os
import ssl
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from gateway import schemas
from gateway.config.contradictions import contradictions
from gateway.config.environment import Environment, credential_variable
from gateway.config.settings import TABLES, Config, Secret, Tls
from gateway.schemas.violations import Problem


class ConfigError(Exception):
    """The text is `SOURCE: key.path: what is wrong; what is allowed`, and never holds a secret.

    `source` is the file, or the variable that is wrong; `path` is the key, empty for a fault of the whole file.
    """

    def __init__(self, source: str, path: str, message: str) -> None:
        super().__init__(f"{source}: {path}: {message}" if path else f"{source}: {message}")
        self.path = path
        self._parts = source, path, message

    def __reduce__(self) -> tuple[type["ConfigError"], tuple[str, str, str]]:
        """As pickle wants it: how the error is made again in another process."""
        return type(self), self._parts


@dataclass(frozen=True, slots=True)
class LoadedTls(Tls):
    """The files, and what they held: PEM, the key without a password."""

    cert_pem: bytes = field(repr=False)
    key_pem: bytes = field(repr=False)

    def context(self) -> ssl.SSLContext:
        """For a server. Raises ssl.SSLError when the two cannot be used together."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        with ExitStack() as files:
            # the library takes files alone, and a private key must not lie in another one on disk
            cert, key = (files.enter_context(_file_of(pem)) for pem in (self.cert_pem, self.key_pem))
            context.load_cert_chain(cert, key, password="")
        return context


def read_certificate(tls: Tls) -> LoadedTls:
    """What the files hold now. Raises OSError with a reason for the operator; nothing else."""
    try:
        loaded = LoadedTls(tls.cert, tls.key, Path(tls.cert).read_bytes(), Path(tls.key).read_bytes())
        loaded.context()
    except ssl.SSLError:
        raise OSError(
            f"{tls.cert} and {tls.key} cannot be used: they must be PEM, and the key must be that of the certificate, "
            "without a password"
        ) from None
    except OSError as error:
        raise OSError(f"{error.filename or tls.cert} cannot be used: {error.strerror}") from None
    return loaded


def loaded(tls: Tls | None) -> LoadedTls | None:
    """What was read with the configuration; for one that was not read from a file, what the files hold now. Raises
    OSError."""
    return tls if tls is None or isinstance(tls, LoadedTls) else read_certificate(tls)


@contextmanager
def _file_of(content: bytes) -> Iterator[str]:
    """A path below which this process alone finds the content, in memory."""
    descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


Section = TypeVar("Section")

_VARIABLES = {
    "server.host": "GATEWAY_HOST",
    "server.port": "GATEWAY_PORT",
    "ops.port": "GATEWAY_OPS_PORT",
    "log.level": "GATEWAY_LOG_LEVEL",
}
"""The configuration keys that an environment variable overrides, and its name."""


_MAX_PROBLEMS = 64
_UNKNOWN = "is unknown; allowed: "


def without_overrides(environment: Environment) -> Environment:
    """The environment without the variables that override keys of the file."""
    return Environment({name: each for name, each in environment.variables.items() if name not in _VARIABLES.values()})


def file_problems(path: Path, environment: Environment) -> list[ConfigError]:
    """Everything that is wrong with the file alone. Rules over several keys, and missing credentials, are told where
    each key by itself is right."""
    try:
        document = _parse_file(path)
        problems = schemas.Checker(schemas.load("config")).check(document, limit=_MAX_PROBLEMS)
        if problems:
            return [ConfigError(str(path), problem.path, _message(problem)) for problem in problems]
        loader = _Loader(str(path), environment)
        config = loader.section(Config, {**document, "state_dir": environment.state_dir}, "")
        return [*loader.missing, *(ConfigError(str(path), where, text) for where, text in contradictions(config))]
    except ConfigError as error:
        return [error]


def load_config(
    path: Path | None, state_dir: Path | None, environment: Environment, *, needs_secrets: bool = True, text: str = ""
) -> Config:
    """The configuration in the file `path`, or when it is None that in `text`, by default the embedded profile.

    `state_dir`: where relative paths begin; by default `environment.state_dir`. Without `needs_secrets`, credentials
    that are missing are empty. Raises ConfigError for the first fault.
    """
    source = str(path) if path else "--upstream" if text else "environment"
    document = _parse_file(path) if path else tomllib.loads(text)
    _apply_overrides(document, environment)
    problems = schemas.Checker(schemas.load("config")).check(document, limit=_MAX_PROBLEMS)
    # A name that nobody knows is mostly why another one is missing.
    for problem in sorted(problems, key=lambda each: not each.message.startswith(_UNKNOWN)):
        variable = _VARIABLES.get(problem.path, "")
        fault_in = variable if environment.variables.get(variable) else source
        raise ConfigError(fault_in, problem.path, _message(problem))
    loader = _Loader(source, environment)
    config = loader.section(Config, {**document, "state_dir": state_dir or environment.state_dir}, "")
    if needs_secrets and loader.missing:
        raise loader.missing[0]
    if config.server.tls is not None:
        config = replace(config, server=replace(config.server, tls=_absolute(config.state_dir, config.server.tls)))
    for where, message in contradictions(config):
        raise ConfigError(source, where, message)
    return _with_certificate(replace(config, file=path), source)


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
    """The schema's message, or a clearer one: for a secret that is written as a string, and for `[[models.upstreams]]`
    without `[[models]]`."""
    is_secret = problem.path.endswith(_SECRETS) or ".headers." in problem.path
    is_no_table = problem.message.startswith("must be an object")
    if is_secret and is_no_table:
        place = f"systemd loads it (LoadCredential=NAME:FILE), or {credential_variable('NAME')} has it"
        return f'must be {{ credential = "NAME" }}: a secret may not stand in the file; {place}'
    if is_no_table and problem.path.startswith("search."):
        known = ", ".join(schemas.load("config")["properties"]["search"]["properties"])
        return f"is unknown; allowed: {known}, and a table [search.NAME] for the settings of a provider"
    if problem.message.startswith(_UNKNOWN):
        allowed = problem.message.removeprefix(_UNKNOWN).split(", ")
        if close := difflib.get_close_matches(problem.path.rpartition(".")[2], allowed, 1):
            return f"is unknown; did you mean {close[0]}? Allowed: {', '.join(allowed)}"
    if problem.message.startswith("must match ^https?://"):
        return "must be an address such as http://127.0.0.1:8000/v1: http or https, without blanks, user and #"
    if problem.message == "must be an array, not an object":
        return f"is a list of tables: [[{problem.path}]], with its keys, stands before every table within it"
    return problem.message


def _parse_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(str(path), "", f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(str(path), "", "is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        hint = "; strings need quotation marks" if "Invalid value" in str(error) else ""
        raise ConfigError(str(path), "", f"is not valid TOML: {error}{hint}") from None


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
    """Builds the dataclasses of `settings` from checked TOML tables, following their annotations. Credentials that are
    not there are empty; `missing` has an error for each."""

    def __init__(self, source: str, environment: Environment) -> None:
        self._source = source
        self._environment = environment
        self.missing: list[ConfigError] = []

    def section(self, kind: type[Section], table: Mapping[str, Any], path: str) -> Section:
        """A `kind` with the values of `table` and defaults for the rest."""
        hints = get_type_hints(kind)
        values: dict[str, Any] = {}
        others = next((each.name for each in fields(cast("Any", kind)) if TABLES in each.metadata), "")
        for name, value in table.items():
            place = f"{path}.{name}" if path else name
            if name in hints and name != others:
                values[name] = self._value(hints[name], value, place)
            else:
                values.setdefault(others, {})[name] = self._value(get_args(hints[others])[1], value, place)
        return kind(**values)

    def _value(self, hint: Any, value: Any, path: str) -> Any:
        if get_origin(hint) is UnionType:
            options = [option for option in get_args(hint) if option is not type(None)]
            hint = next(each for each in options if (get_origin(each) is tuple) == isinstance(value, list))
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
        if value:
            return Secret(name, value)
        state, remedy = "empty", "write the secret into the file that LoadCredential= of the unit names"
        if value is None:
            state = "missing"
            remedy = f"set LoadCredential={name}:FILE in the unit, or the variable {credential_variable(name)}"
        self.missing.append(ConfigError(self._source, path, f"credential '{name}' is {state}; {remedy}"))
        return Secret(name, "")
