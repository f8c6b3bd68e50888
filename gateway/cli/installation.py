"""Which gateway a command speaks of, and what the command needs to know of it.

| order | which                                                    | what is taken of it                               |
|-------|----------------------------------------------------------|---------------------------------------------------|
| 1     | what an option or a variable names                       | that; for the service's own file, as in 3         |
| 2     | `var` in this folder, where `gateway serve` has put keys | the state directory, the file it was started with |
| 3     | the installed service                                    | file, variables, credentials and folders          |

A command that found its gateway by 2 or 3 says on standard error which one. It is silent where it found the gateway by
2 and no service is installed. This module imports neither the application nor an engine.
"""

import argparse
import contextlib
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from gateway.access.private_files import STARTED_WITH, dev_key_path
from gateway.cli.options import say
from gateway.cli.unit_files import SEARCH, read_unit, service_environment, service_unit
from gateway.config.environment import Environment
from gateway.config.settings import Access
from gateway.errors import InvalidRequest

_OF_STATE = ("keys", "usage", "index", "backup", "restore")
_OF_SERVICE = ("reload", "upgrade")
_NEED_ONE = ("keys", "usage", "backup")
"""Commands that read or write the state directory; that only a service obeys; that are pointless without a gateway."""

_NAMED_BY = {
    **dict.fromkeys(("chat", "search", "call", "doctor"), ("url", "GATEWAY_URL")),
    **dict.fromkeys(_OF_SERVICE, ("runtime_dir", "RUNTIME_DIRECTORY")),
    "keys": ("keys_file", ""),
}
"""Option and variable that name the gateway beside `--config`, `--state-dir` and the variables for these."""


def found(
    command: str, arguments: argparse.Namespace, environment: Environment, search: Sequence[Path] = SEARCH
) -> Environment:
    """The environment in which the command finds its gateway; `arguments.line` are all its words. `arguments.config`
    becomes the file that was found, if there is one. Raises InvalidRequest where a command needs a gateway and there is
    none, or needs its state and only root can use that."""
    unit = read_unit("gateway.service", search) if arguments.config is None else service_unit(arguments.config, search)
    service = service_environment(unit, environment).environment if unit is not None else environment
    option, variable = _NAMED_BY.get(command, ("", ""))
    variables = [environment.variables.get(name) for name in ("STATE_DIRECTORY", variable)]
    keys = (environment.state_dir / Access().keys_file, dev_key_path(environment.state_dir))
    told = ""
    if arguments.config is not None:
        environment = service
    elif any(variables) or any(getattr(arguments, name, None) for name in ("state_dir", option)):
        return environment
    elif command not in _OF_SERVICE and any(map(os.path.exists, keys)):
        arguments.config = _started_with(environment.state_dir)
        if unit is None:
            return environment
        told = f"the gateway that was started in this folder, state in {environment.state_dir}"
        told += f"; the installed service: --config {service.config_file}"
    elif unit is not None:
        arguments.config, environment = service.config_file, service
        told = f"the installed service: {arguments.config}, state in {environment.state_dir}"
    elif command in _NEED_ONE:
        remedy = "name it with --config or --state-dir, or start it here once: gateway serve"
        raise InvalidRequest(f"there is no gateway in this folder and no installed service; {remedy}")
    folder = getattr(arguments, "state_dir", None) or environment.state_dir
    is_service = unit is not None and environment is service
    if is_service and command in _OF_STATE and os.geteuid() and not os.access(folder, os.R_OK | os.X_OK):
        remedy = shlex.join(("sudo", "gateway", *arguments.line))
        raise InvalidRequest(f"only root can use {folder}, the state of the installed service: {remedy}")
    if told:
        say(f"gateway: this is about {told}\n", sys.stderr)
    return environment


def _started_with(state_dir: Path) -> Path | None:
    """The configuration file with which the gateway there was started last; None for none, and where it is gone."""
    with contextlib.suppress(OSError, ValueError):
        path = Path((state_dir / STARTED_WITH).read_text())
        return path if path.is_absolute() and path.is_file() else None
    return None
