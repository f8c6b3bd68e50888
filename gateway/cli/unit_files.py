"""Reads systemd's unit files as far as the gateway's checks need them. Runs no program.

A unit is its file in the first of the search folders that has it, and its drop-ins `NAME.d/*.conf` from all of them. An
empty assignment forgets what was assigned before. Source: systemd.unit(5), systemd.time(7) of version 252, read
2026-11-22. Continued lines are joined; sections are not told apart, since the names that we ask for are unique.

The environment of the installed service, for commands that root gives about it. Imports neither the application nor
an engine.
"""

import contextlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.config.environment import Environment, credential_variable

SEARCH = tuple(
    Path(folder)
    for folder in (
        "/etc/systemd/system",
        "/run/systemd/system",
        "/usr/local/lib/systemd/system",
        "/usr/lib/systemd/system",
        "/lib/systemd/system",
    )
)

RESTART = "systemctl restart gateway.service"
"""What applies a changed credential: systemd copies them when a service starts."""

_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hr": 3600, "d": 86_400}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


@dataclass(frozen=True, slots=True)
class UnitFile:
    """One unit: name of a setting -> all its values, in order."""

    path: Path
    settings: Mapping[str, Sequence[str]]

    def all(self, name: str) -> Sequence[str]:
        """Every value of a setting that may be repeated."""
        return self.settings.get(name, ())

    def last(self, name: str) -> str:
        """The value in force of a setting that may be given once; empty when it is not given."""
        values = self.settings.get(name)
        return values[-1] if values else ""

    def seconds(self, name: str) -> float | None:
        """A time span in seconds; None when it is not given, or is `infinity`, or cannot be read."""
        parts = _SPAN.findall(self.last(name))
        if not parts or any(unit and unit not in _SECONDS for _, unit in parts):
            return None
        return sum(float(number) * _SECONDS.get(unit, 1) for number, unit in parts)

    def load_credentials(self) -> dict[str, Path]:
        """Name -> file of each `LoadCredential=`; a relative file is in /etc/credstore."""
        pairs = [value.partition(":") for value in self.all("LoadCredential")]
        return {name: Path("/etc/credstore") / (path or name) for name, _, path in pairs}

    def sealed_credentials(self) -> set[str]:
        """Names of credentials that only systemd can read."""
        values = (*self.all("LoadCredentialEncrypted"), *self.all("SetCredentialEncrypted"), *self.all("SetCredential"))
        return {value.partition(":")[0] for value in values}


def read_unit(name: str, search: Sequence[Path] = SEARCH) -> UnitFile | None:
    """The unit `name` (with its suffix); None when there is none or it cannot be read."""
    main = next((folder / name for folder in search if (folder / name).is_file()), None)
    if main is None:
        return None
    drop_ins = {path.name: path for folder in reversed(search) for path in (folder / f"{name}.d").glob("*.conf")}
    settings: dict[str, list[str]] = {}
    try:
        for path in (main, *(drop_ins[key] for key in sorted(drop_ins))):
            _read_into(settings, path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return UnitFile(main, {key: values for key, values in settings.items() if values})


def _read_into(settings: dict[str, list[str]], text: str) -> None:
    for line in re.sub(r"\\\n", " ", text).splitlines():
        key, equals, value = line.strip().partition("=")
        if not equals or key.startswith(("#", ";", "[")):
            continue
        if value.strip():
            settings.setdefault(key.strip(), []).append(value.strip())
        else:
            settings[key.strip()] = []


_PLACEHOLDER = "unreadable"


@dataclass(frozen=True, slots=True)
class ServiceEnvironment:
    """`environment` without what nobody could read. `missing`: files of credentials that do not exist, by name;
    `unreadable` and `sealed`: names of credentials that only root or systemd can read."""

    environment: Environment
    missing: Mapping[str, Path]
    unreadable: Sequence[str]
    sealed: Sequence[str]

    def with_placeholders(self) -> Environment:
        """For a check of the file alone: every credential that the unit names counts as there."""
        names = (*self.missing, *self.unreadable, *self.sealed)
        placeholders = {credential_variable(name): _PLACEHOLDER for name in names}
        return Environment({**self.environment.variables, **placeholders})


def service_unit(file: Path, search: Sequence[Path] = SEARCH) -> UnitFile | None:
    """The unit whose service runs with this configuration file; None when no unit is known to."""
    unit = read_unit("gateway.service", search)
    own = _variables(unit).get("GATEWAY_CONFIG") if unit is not None else None
    return unit if own is not None and Path(own).resolve() == file.resolve() else None


def service_environment(unit: UnitFile, environment: Environment) -> ServiceEnvironment:
    """The environment of the unit's service: its variables, credentials and folders, and as `GATEWAY_CONFIG` the file
    that it reads. What `environment` says itself goes first."""
    variables = {**_variables(unit), **environment.variables}
    missing: dict[str, Path] = {}
    unreadable: list[str] = []
    sealed: list[str] = []
    if not variables.get("CREDENTIALS_DIRECTORY"):
        for name, path in unit.load_credentials().items():
            try:
                variables[credential_variable(name)] = path.read_text(errors="replace").strip()
            except PermissionError:
                unreadable.append(name)
            except OSError:
                missing[name] = path
        sealed = sorted(unit.sealed_credentials())
    return ServiceEnvironment(Environment(variables), missing, unreadable, sealed)


_FOLDERS = (("StateDirectory", "STATE_DIRECTORY", "/var/lib"), ("RuntimeDirectory", "RUNTIME_DIRECTORY", "/run"))


def _variables(unit: UnitFile) -> dict[str, str]:
    """What the unit sets itself, as far as it can be read, and what its folders and its program's options say."""
    variables: dict[str, str] = {}
    texts = list(unit.all("Environment"))
    for file in unit.all("EnvironmentFile"):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            texts.append(Path(file.removeprefix("-")).read_text())
    for text in texts:
        with contextlib.suppress(ValueError):  # a quote that is not closed
            variables |= dict(word.split("=", 1) for word in shlex.split(text, comments=True) if "=" in word)
    for setting, name, folder in _FOLDERS:
        if unit.last(setting):
            variables[name] = f"{folder}/{unit.last(setting).split()[0]}"
    words = unit.last("ExecStart").replace("=", " ").split()
    for option, name in (("--config", "GATEWAY_CONFIG"), ("--state-dir", "STATE_DIRECTORY")):
        if option in words[:-1]:
            variables[name] = words[words.index(option) + 1]
    return variables
