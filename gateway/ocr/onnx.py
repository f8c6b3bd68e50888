"""A network in an ONNX file, run by onnxruntime with settings for a machine shared with others.

Its threads sleep while they wait instead of spinning (a sixth of the processor time of a page). The memory of a run
over a whole page is given back after it: pages differ in size, and what the largest took would stay otherwise.
"""

import hashlib
import importlib.util
from pathlib import Path
from typing import Any

from gateway.errors import EngineMissing
from gateway.ocr.extras import MISSING, onnxruntime

NO_SPINNING = ("session.intra_op.allow_spinning", "0")
GIVE_BACK = ("memory.enable_memory_arena_shrinkage", "cpu:0")


def model_file(package: str, name: str) -> Path:
    """A model file inside an installed package, found without importing it. Raises EngineMissing."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise EngineMissing(MISSING)
    path = Path(spec.origin).parent / "models" / name
    if not path.is_file():
        raise EngineMissing(f"The installed {package} holds no model {name}: install the version of the lock file.")
    return path


def digest_of(paths: list[Path]) -> str:
    """Twelve hex digits that change when a model does."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class Network:
    """`run` gives all outputs for one input array, calling gives the first. Raises EngineMissing without the extra."""

    def __init__(self, path: Path, threads: int, *, gives_back: bool = True) -> None:
        runtime = onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.add_session_config_entry(*NO_SPINNING)
        self._session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name
        self._run_options = runtime.RunOptions()
        if gives_back:
            self._run_options.add_run_config_entry(*GIVE_BACK)

    def __call__(self, array: Any) -> Any:
        return self.run(array)[0]

    def run(self, array: Any) -> list[Any]:
        outputs: list[Any] = self._session.run(None, {self._input: array}, self._run_options)
        return outputs

    def metadata(self, key: str) -> str:
        """What the model file says of itself under `key`."""
        value: str = self._session.get_modelmeta().custom_metadata_map[key]
        return value
