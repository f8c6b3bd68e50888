"""The environment of the installed service, for commands that root gives about it: `--config` names its file, and they
find its credentials and its state directory as the service does. Imports neither the application nor an engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.cli.unit_files import SEARCH, UnitFile, read_unit
from gateway.config.environment import Environment, credential_variable

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
        """For a check of the file alone: what cannot be read counts as there."""
        names = (*self.unreadable, *self.sealed)
        placeholders = {credential_variable(name): _PLACEHOLDER for name in names}
        return Environment({**self.environment.variables, **placeholders})


def service_unit(file: Path, search: Sequence[Path] = SEARCH) -> UnitFile | None:
    """The unit whose service runs with this configuration file; None when no unit is known to."""
    unit = read_unit("gateway.service", search)
    if unit is None or str(file.resolve()) not in unit.last("ExecStart").split():
        return None
    return unit


def service_environment(unit: UnitFile, environment: Environment) -> ServiceEnvironment:
    """The environment of the unit's service. What `environment` says itself goes first."""
    variables = dict(environment.variables)
    missing: dict[str, Path] = {}
    unreadable: list[str] = []
    sealed: list[str] = []
    if unit.last("StateDirectory") and "STATE_DIRECTORY" not in variables:
        variables["STATE_DIRECTORY"] = f"/var/lib/{unit.last('StateDirectory').split()[0]}"
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


def environment_for(file: Path, environment: Environment) -> Environment:
    """The environment in which a command reads the configuration `file`: the service's where it is its file."""
    unit = service_unit(file)
    return environment if unit is None else service_environment(unit, environment).environment
