"""Cuts texts to a length in the parse processes: foreign text may be slow to read, and these can be killed."""

import orjson

from gateway.domain import Json
from gateway.engines.answer.shorten import shorten
from gateway.engines.documents.options import ExtractOptions
from gateway.engines.documents.parse_pool import ParsePool

_JOB = ExtractOptions("", task="shorten")


async def shorten_in(pool: ParsePool, texts: list[str], max_chars: int, owner: str) -> list[str]:
    """The texts as `answer.shorten.shorten` cuts them, for the key `owner`; half surrogate pairs become `?`. Raises as
    `ParsePool.extract` does."""
    whole = [text.encode("utf-8", "replace").decode() for text in texts]
    answer = await pool.extract(orjson.dumps([max_chars, whole]), _JOB, owner)
    shortened: list[str] = answer["texts"]
    return shortened


def run(body: bytes) -> Json:
    """The parse process's part: `{texts}` for a body `[max_chars, texts]`."""
    max_chars, texts = orjson.loads(body)
    return {"texts": [shorten(text, max_chars) for text in texts]}
