"""A network in an ONNX file, run by onnxruntime with settings for a machine shared with others.

Its threads sleep while they wait instead of spinning (measured: a sixth of the processor time of a page). The memory of
a run over a whole page is given back after it: pages differ in size, and the largest one's memory would stay otherwise.
Knows nothing of images and text.
"""

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

from gateway.errors import EngineMissing
from gateway.ocr.extras import MISSING, onnxruntime

NO_SPINNING = ("session.intra_op.allow_spinning", "0")
GIVE_BACK = ("memory.enable_memory_arena_shrinkage", "cpu:0")
"""Keys and values of onnxruntime's session and run options (its header files onnxruntime_*_config_keys.h)."""
ONLY_FATAL = 4
"""Severity of onnxruntime's log: its warnings name paths and are of the model files, which nobody here can change."""
DIGEST_CHARS = 12
"""48 bits: enough to tell model versions apart, short enough for a fingerprint in every answer."""


def model_file(package: str, name: str) -> Path:
    """The path of `models/name` inside an installed package, found without importing it. Raises EngineMissing."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise EngineMissing(MISSING)
    path = Path(spec.origin).parent / "models" / name
    if not path.is_file():
        raise EngineMissing(f"the installed {package} has no model {name}: install the version of the lock file")
    return path


def digest_of(paths: list[Path]) -> str:
    """DIGEST_CHARS hex digits of the SHA-256 of all files: they change when a model does."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:DIGEST_CHARS]


class Network:
    """A loaded network of one input: `run` gives all outputs, calling it the first one.

    `threads`: cores of one run; `gives_back`: whether memory is given back after each run. Raises EngineMissing without
    the extra, at construction.
    """

    def __init__(self, path: Path, threads: int, *, gives_back: bool = True) -> None:
        runtime = onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = ONLY_FATAL
        options.add_session_config_entry(*NO_SPINNING)
        self._session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name
        self._run_options = runtime.RunOptions()
        if gives_back:
            self._run_options.add_run_config_entry(*GIVE_BACK)

    def __call__(self, array: Any) -> Any:
        return self.run(array)[0]

    def run(self, array: Any) -> list[Any]:
        """All outputs, numpy arrays, for one input array. Several threads may call it at a time."""
        outputs: list[Any] = self._session.run(None, {self._input: array}, self._run_options)
        return outputs

    def metadata(self, key: str) -> str:
        """The model file's own entry under `key`. Raises KeyError."""
        value: str = self._session.get_modelmeta().custom_metadata_map[key]
        return value
