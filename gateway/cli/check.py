"""`gateway check-config` and `print-config`.

For the file of the installed service, root can check what only the service sees: the credentials that its unit loads,
its state directory, its times, and the address of its socket. Imports neither the application nor an engine.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.cli.options import (
    BAD,
    DOUBTFUL,
    EX_CONFIG,
    GOOD,
    Paint,
    Parsers,
    add_json_option,
    for_terminal,
    print_json_lines,
    say,
)
from gateway.cli.unit_files import SEARCH, ServiceEnvironment, UnitFile, read_unit, service_environment, service_unit
from gateway.config.dump import config_text
from gateway.config.environment import Environment
from gateway.config.loader import ConfigError, file_problems, load_config, without_overrides
from gateway.config.settings import Config
from gateway.config.without_effect import without_effect
from gateway.errors import InvalidRequest

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
    check = parsers.add_parser("check-config")
    check.add_argument("config", type=Path, metavar="FILE", nargs="?", help="default: $GATEWAY_CONFIG")
    check.add_argument(
        "--unit-dir", type=Path, action="append", metavar="DIR", help="where gateway.service is; default: systemd's own"
    )
    add_json_option(check)
    check.set_defaults(command=_check_config)
    show = parsers.add_parser("print-config")
    show.add_argument(
        "config", type=Path, metavar="FILE", nargs="?", help="default: $GATEWAY_CONFIG, else the service's"
    )
    show.set_defaults(command=_print_config)


def _check_config(arguments: argparse.Namespace, environment: Environment) -> int:
    file: Path | None = arguments.config
    if file is None:
        raise InvalidRequest("name the file: gateway check-config FILE, or set GATEWAY_CONFIG")
    environment = without_overrides(environment)
    unit = service_unit(file, arguments.unit_dir or SEARCH)
    warnings: Sequence[str] = ()
    unchecked: Sequence[str] = ()
    try:
        if unit is None:
            errors = file_problems(file, environment)
            if not errors:
                # the whole, for what only it can tell, such as a certificate
                warnings = list(_settings_without_effect(load_config(file, None, environment)))
        else:
            service = service_environment(unit, environment)
            errors = [*_missing_credentials(file, service), *file_problems(file, service.with_placeholders())]
            if not errors:
                checked = check_service(file, unit, environment)
                warnings, unchecked = [*checked.warnings, *_settings_without_effect(checked.config)], checked.unchecked
    except ConfigError as error:
        errors = [error]
    if errors:
        return _print_errors(file, errors, environment, as_json=arguments.json)
    if arguments.json:
        told = {"warnings": list(warnings), "unchecked_credentials": list(unchecked)}
        print_json_lines([{"file": str(file), "ok": True, **told}])
        return 0
    paint = Paint(sys.stderr, environment)
    for warning in warnings:
        sys.stderr.write(f"{paint(DOUBTFUL, 'gateway: warning:')} {for_terminal(warning)}\n")
    if unchecked:
        say(f"gateway: not checked: credentials {', '.join(unchecked)}, which systemd seals\n", sys.stderr)
    sys.stdout.write(f"{for_terminal(str(file))}: {Paint(sys.stdout, environment)(GOOD, 'ok')}\n")
    return 0


def _settings_without_effect(config: Config) -> Iterator[str]:
    return (f"{setting} {remedy}" for setting, remedy in without_effect(config))


def _print_errors(file: Path, errors: Sequence[ConfigError], environment: Environment, *, as_json: bool) -> int:
    if as_json:
        told = [str(error) for error in errors]
        print_json_lines([{"file": str(file), "ok": False, "error": told[0], "errors": told}])
    paint = Paint(sys.stderr, environment)
    for error in () if as_json else errors:
        sys.stderr.write(f"{paint(BAD, 'gateway:')} {for_terminal(str(error))}\n")
    return EX_CONFIG


def _missing_credentials(file: Path, service: ServiceEnvironment) -> list[ConfigError]:
    return [
        ConfigError(str(file), "", f"credential '{name}': there is no {path}; the unit loads it")
        for name, path in service.missing.items()
    ]


def check_service(file: Path, unit: UnitFile, environment: Environment) -> ServiceCheck:
    """Check the file as the unit's service would read it. Raises ConfigError."""
    service = service_environment(unit, environment)
    for error in _missing_credentials(file, service):
        raise error
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
    say(config_text(load_config(arguments.config, None, environment, needs_secrets=False)))
    return 0
