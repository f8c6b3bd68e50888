"""Texts as vectors: the model all-MiniLM-L6-v2 with int8 weights on onnxruntime. Runs in the embedding process alone.

The vector of a text is the mean of its tokens' vectors, of length one; the cosine of two texts is their dot product.
Source: the model card of sentence-transformers/all-MiniLM-L6-v2 (read 2026-11-22). Knows no process.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from gateway.engines.embedding.model_file import DIMENSIONS
from gateway.engines.embedding.wordpiece import WordPiece, load_vocabulary

Array = Any
"""A numpy array."""

_INT8_MAX = 127.0


class Encoder:
    """The loaded model. Raises ImportError and onnxruntime's errors when it cannot be loaded."""

    def __init__(self, model: Path) -> None:
        onnxruntime.set_default_logger_severity(3)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # The arena keeps what texts of different lengths need, for both lanes. Without it, and with a plan of memory
        # for each length, malloc's heaps grow by 150 MB over 250 texts; with it by 50 MB, all in the first 100, at the
        # same CPU (measured with two threads and lengths of 3 to 256 tokens).
        options.enable_cpu_mem_arena = True
        options.enable_mem_pattern = False
        self._session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._tokenizer = WordPiece(load_vocabulary())

    def encode(self, texts: Sequence[str], max_tokens: int) -> tuple[Array, list[int], list[bool]]:
        """A row of length one for each text, its number of tokens, and whether it was cut.

        One text at a time: eight at once take no less CPU for each, and short ones wait for long ones (measured).
        """
        vectors: Array = np.empty((len(texts), DIMENSIONS), np.float32)
        counts: list[int] = []
        are_cut: list[bool] = []
        for row, text in enumerate(texts):
            tokens, is_cut = self._tokenizer.encode(text, max_tokens)
            ids = np.array([tokens], np.int64)
            inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            mean = self._session.run(None, inputs)[0][0].mean(axis=0)
            vectors[row] = mean / max(float(np.linalg.norm(mean)), 1e-12)
            counts.append(len(tokens))
            are_cut.append(is_cut)
        return vectors, counts, are_cut


def quantised(vectors: Array) -> tuple[Array, Array]:
    """`(scales, values)`: each vector is about its scale times its row of whole numbers from -127 to 127."""
    scales = np.maximum(np.abs(vectors).max(axis=1), 1e-12).astype(np.float32) / _INT8_MAX
    return scales, np.rint(vectors / scales[:, None]).astype(np.int8)
