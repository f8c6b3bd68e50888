"""A network in an ONNX file, run by onnxruntime with settings for a machine shared with others.

Its threads sleep while they wait instead of spinning (measured: a sixth of the processor time of a page). All networks
take their memory from one pool, which is kept: a process that gives back a page's 110 MB and asks for them again spends
a third of the detector's time on that (measured). After a run over an unusually large page the pool is given back, or
the largest page's memory would stay. Knows nothing of pages and text.
"""

import hashlib
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

from gateway.errors import EngineMissing
from gateway.ocr.extras import MISSING, onnxruntime, vision

NO_SPINNING = ("session.intra_op.allow_spinning", "0")
GIVE_BACK = ("memory.enable_memory_arena_shrinkage", "cpu:0")
"""Keys and values of onnxruntime's session and run options (its header files onnxruntime_*_config_keys.h)."""
POOL = ("session.use_env_allocators", "1")
BY_NEED = 1
"""The pool grows by what is needed; by doubling (0), it holds up to twice that."""
MAX_KEPT_VALUES = 4_500_000
"""After a run over an input of more values the pool is given back. A page at line_reader.DETECT_PIXELS has 3.4 million
and, if it is long and narrow, up to 4.2. At half, every page gives it back; at double, the pool stays at 300 MB after
one page of small print."""
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


@cache
def _make_pool() -> None:
    """Makes the pool of memory of this process's networks, once."""
    runtime = onnxruntime()
    memory = runtime.OrtMemoryInfo("Cpu", runtime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, runtime.OrtMemType.DEFAULT)
    # 0 bytes at most: no bound but the process's; -1: the runtime's own sizes of pieces.
    runtime.create_and_register_allocator(memory, runtime.OrtArenaCfg(0, BY_NEED, -1, -1))


class Network:
    """A loaded network of one input: `run` gives all outputs, calling it the first one.

    `threads`: cores of one run. Raises EngineMissing without the extra, at construction.
    """

    def __init__(self, path: Path, threads: int) -> None:
        runtime = onnxruntime()
        _make_pool()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = ONLY_FATAL
        options.add_session_config_entry(*NO_SPINNING)
        options.add_session_config_entry(*POOL)
        self._session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name
        self._keeping, self._giving_back = runtime.RunOptions(), runtime.RunOptions()
        self._giving_back.add_run_config_entry(*GIVE_BACK)

    def __call__(self, array: Any) -> Any:
        return self.run(array)[0]

    def run(self, array: Any) -> list[Any]:
        """All outputs, numpy arrays, for one input array. Several threads may call it at a time."""
        options = self._keeping if array.size <= MAX_KEPT_VALUES else self._giving_back
        outputs: list[Any] = self._session.run(None, {self._input: array}, options)
        return outputs

    def metadata(self, key: str) -> str:
        """The model file's own entry under `key`. Raises KeyError."""
        value: str = self._session.get_modelmeta().custom_metadata_map[key]
        return value


def planes(pixels: Any, table: Any) -> Any:
    """A picture as a network's input, its channels one after the other: (1, channels, height, width), float32.

    Each value of `pixels` (8 bits) is looked up in `table` (channels, 256): the same floats as by arithmetic, at two
    thirds of the time.
    """
    cv2, numpy = vision()
    height, width, channels = pixels.shape
    found = numpy.empty((1, channels, height, width), numpy.float32)
    for number, channel in enumerate(cv2.split(pixels)):
        cv2.LUT(channel, table[number], dst=found[0, number])
    return found
