"""What comes before serving: the checked configuration, and the first key.

Checking needs schemas, patterns and the format of keys, which serving processes have anyway and a supervisor does not
need again. So a supervisor of workers has a child process do it (`in_child`) and takes the result: the installation
takes 2.8 MiB less for it (measured, November 2026).

The first start makes a key; a key file that is named but missing is an error.
"""

import errno
import os
import pickle
import select
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from gateway.access.keys import KeyFile, KeyRequest
from gateway.access.private_files import USER_HASH_KEY, dev_key_path, write_private
from gateway.config.environment import Environment
from gateway.config.loader import ConfigError, load_config
from gateway.config.settings import Access, Config, GuardrailSettings
from gateway.domain import SCOPES, TEXT_MODEL
from gateway.errors import GatewayError

T = TypeVar("T")

_CHILD_S = 30.0
"""How long a child may take."""


def prepare(
    file: Path | None, state_dir: Path | None, environment: Environment, *, is_first: bool = False, own_model: str = ""
) -> Config:
    """The configuration in `file`, whose keys are there. `is_first`: the gateway starts, so a missing state directory
    and a first key are made. `own_model`: the tables of `cli.upstream`; what the file says of the guardrail goes first.
    Raises ConfigError, InvalidRequest, OSError."""
    config = load_config(file, state_dir, environment)
    if own_model:
        if any(TEXT_MODEL in (model.name, *model.aliases) for model in config.models):
            raise ConfigError(str(file), "models", f"{TEXT_MODEL} is here and named by --upstream; leave one away")
        own = load_config(None, state_dir, environment, text=own_model)
        guardrail = own.guardrail if config.guardrail == GuardrailSettings() else config.guardrail
        config = replace(config, models=(*config.models, *own.models), guardrail=guardrail)
    if is_first:
        config.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if config.access.backend == "file":
        keys = key_file(config)
        if is_first:
            ensure_dev_key(keys, dev_key_path(config.state_dir))
    return config


def in_child(work: Callable[[], T]) -> T:
    """The result of `work`, called in a fork of this process, or the error that it raised there. Both are pickled.
    Raises OSError when the child cannot do it. Call it while this process has one thread."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _work_and_exit(work, writing)
    os.close(writing)
    try:
        answer = _read_all(reading, time.monotonic() + _CHILD_S)
    finally:
        os.close(reading)
        os.kill(pid, signal.SIGKILL)  # it has ended, or shall
        os.waitpid(pid, 0)
    if not answer:
        raise OSError(errno.ECHILD, "the process that reads the configuration was killed")
    result, error = pickle.loads(answer)  # noqa: S301 - of our own child
    if error is not None:
        raise error
    found: T = result
    return found


def _work_and_exit(work: Callable[[], T], writing: int) -> None:
    """In the child. Returns never."""
    try:
        signal.set_wakeup_fd(-1)  # it is that of the event loop of the parent
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # they are for the parent, which waits for this
        try:
            outcome: tuple[T | None, Exception | None] = (work(), None)
        except Exception as error:
            outcome = (None, error)
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(outcome, pipe)
    finally:
        os._exit(0)


def _read_all(descriptor: int, end_s: float) -> bytes:
    """What comes until the other side closes it. Raises OSError at `end_s`, a monotonic time."""
    pieces: list[bytes] = []
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    while poller.poll(max(0.0, end_s - time.monotonic()) * 1000):
        piece = os.read(descriptor, 65_536)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
    raise OSError(errno.ETIMEDOUT, "the configuration could not be read in time")


def key_file(config: Config) -> KeyFile:
    """The key file. Raises ConfigError when it cannot be read, or when it is gone though the configuration names one or
    this state directory has been served from: new keys must then be the operator's decision."""
    state, keys = config.state_dir, KeyFile(config.state_dir / config.access.keys_file)
    is_named = config.access.keys_file != Access().keys_file
    if keys.path.exists():
        try:
            keys.read_existing()
        except GatewayError as error:
            raise ConfigError(str(keys.path), "access.keys_file", error.message) from None
        except OSError as error:
            raise ConfigError(str(keys.path), "access.keys_file", f"cannot be read: {error.strerror}") from None
        return keys
    if not (is_named or dev_key_path(state).exists() or (state / USER_HASH_KEY).exists()):
        return keys
    remedy = "restore it, or make keys with `gateway keys create`"
    raise ConfigError(str(keys.path), "access.keys_file", f"no such file, though this gateway has had keys; {remedy}")


def ensure_dev_key(keys: KeyFile, path: Path) -> bool:
    """Make a first key with all scopes and write it to `path`, unless that file or any key exists. Returns whether it
    was made. Raises InvalidRequest, OSError."""
    if path.exists() or keys.read():
        return False
    key, _ = keys.create(KeyRequest(name="dev", scopes=SCOPES))
    write_private(path, key.encode() + b"\n")
    return True
