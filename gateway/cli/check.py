"""`gateway check-config` and `print-config`.

For the file of the installed service, root can check what only the service sees: the credentials that its unit loads,
its state directory, its times, and the address of its socket. Imports neither the application nor an engine.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.cli.options import DOUBTFUL, EX_CONFIG, GOOD, Paint, Parsers, add_json_option, print_json_lines
from gateway.cli.unit_files import SEARCH, UnitFile, read_unit, service_environment, service_unit
from gateway.config.dump import config_text
from gateway.config.environment import Environment
from gateway.config.loader import ConfigError, load_config
from gateway.config.settings import Config

_STOP_RESERVE_S = 15
"""From the specification (issue 17): what the unit must wait beyond `server.drain_s` before it kills the gateway."""


@dataclass(frozen=True, slots=True)
class ServiceCheck:
    """A configuration as its service sees it. `unchecked`: credentials that only systemd can read. `warnings`: what
    the service ignores or does not find, one sentence each."""

    config: Config
    unchecked: Sequence[str]
    warnings: Sequence[str]


def add_commands(parsers: Parsers) -> None:
    """Add both."""
    check = parsers.add_parser("check-config", help="check a configuration file; exit 78 when it is wrong")
    check.add_argument("file", type=Path, metavar="FILE")
    check.add_argument(
        "--unit-dir", type=Path, action="append", metavar="DIR", help="where gateway.service is; default: systemd's own"
    )
    add_json_option(check)
    check.set_defaults(command=_check_config)
    show = parsers.add_parser("print-config", help="show the configuration in force, without secrets")
    show.add_argument("file", type=Path, metavar="FILE", nargs="?")
    show.set_defaults(command=_print_config)


def _check_config(arguments: argparse.Namespace, environment: Environment) -> int:
    unit = service_unit(arguments.file, arguments.unit_dir or SEARCH)
    warnings: Sequence[str] = ()
    unchecked: Sequence[str] = ()
    try:
        if unit is None:
            load_config(arguments.file, None, environment)
        else:
            checked = check_service(arguments.file, unit, environment)
            warnings, unchecked = checked.warnings, checked.unchecked
    except ConfigError as error:
        if not arguments.json:
            raise
        print_json_lines([{"file": str(arguments.file), "ok": False, "error": str(error)}])
        return EX_CONFIG
    if arguments.json:
        told = {"warnings": list(warnings), "unchecked_credentials": list(unchecked)}
        print_json_lines([{"file": str(arguments.file), "ok": True, **told}])
        return 0
    paint = Paint(sys.stderr, environment)
    for warning in warnings:
        sys.stderr.write(f"{paint(DOUBTFUL, 'gateway: warning:')} {warning}\n")
    if unchecked:
        sys.stderr.write(f"gateway: not checked: credentials {', '.join(unchecked)}, which systemd seals\n")
    sys.stdout.write(f"{arguments.file}: {Paint(sys.stdout, environment)(GOOD, 'ok')}\n")
    return 0


def check_service(file: Path, unit: UnitFile, environment: Environment) -> ServiceCheck:
    """Check the file as the unit's service would read it. Raises ConfigError."""
    service = service_environment(unit, environment)
    for name, path in service.missing.items():
        raise ConfigError(str(file), "", f"credential '{name}': there is no {path}; the unit loads it")
    config = load_config(file, None, service.with_placeholders())
    stop_s = unit.seconds("TimeoutStopSec")
    if stop_s is not None and stop_s - config.server.drain_s < _STOP_RESERVE_S:
        allowed = f"TimeoutStopSec={stop_s:g} of {unit.path} allows at most {stop_s - _STOP_RESERVE_S:g}"
        raise ConfigError(str(file), "server.drain_s", f"the unit would kill the gateway while it drains; {allowed}")
    return ServiceCheck(config, service.sealed, list(socket_warnings(config, unit)))


def socket_warnings(config: Config, unit: UnitFile) -> Iterator[str]:
    """What of server.host and server.port the service ignores because its socket unit says otherwise."""
    socket = read_unit("gateway.socket", (unit.path.parent, *SEARCH))
    if socket is None:
        yield "there is no gateway.socket: a restart refuses connections; install it with `make install-service`"
        return
    host, port = config.server.host, config.server.port
    wanted = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    listens = list(socket.all("ListenStream"))
    if len(listens) != 1:
        yield f"{socket.path} has {len(listens)} ListenStream, and the gateway serves one: leave {wanted}"
    elif listens[0] not in (wanted, *((str(port),) if host in ("0.0.0.0", "::") else ())):  # noqa: S104
        yield (
            f"server.host and server.port say {wanted}, but the service listens on {listens[0]}, the ListenStream of "
            f"gateway.socket; make them equal (`make upgrade` writes the socket's from the file)"
        )


def _print_config(arguments: argparse.Namespace, environment: Environment) -> int:
    sys.stdout.write(config_text(load_config(arguments.file, None, environment)))
    return 0
