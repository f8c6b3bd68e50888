"""A stand-in for the embedding process, which needs no model: `python -m tests.support.scripted_embedding`.

Speaks the frames of `gateway.engines.embedding.worker`. A text with the word `die` ends the process, one with
`hang` gets no answer, one with `fail` is answered as failed; any other has ones in as many places of its vector as it
has characters. With an argument it ends at once, as a broken installation does.
"""

import struct
import sys

import orjson

from gateway.engines.embedding.frames import LENGTH
from gateway.engines.embedding.model_file import DIMENSIONS

COMMAND = (sys.executable, "-m", "tests.support.scripted_embedding")
BROKEN = (*COMMAND, "broken")


def vector(text: str) -> list[float]:
    return [1.0 if place < len(text) else 0.0 for place in range(DIMENSIONS)]


def _send(head: dict[str, object], body: bytes = b"") -> None:
    packed = orjson.dumps(head)
    sys.stdout.buffer.write(LENGTH.pack(len(packed)) + packed + LENGTH.pack(len(body)) + body)
    sys.stdout.buffer.flush()


def main() -> None:
    if len(sys.argv) > 1:
        raise SystemExit(3)
    _send({"hello": "scripted"})
    source = sys.stdin.buffer
    while size := source.read(LENGTH.size):
        job = orjson.loads(source.read(LENGTH.unpack(size)[0]))
        source.read(LENGTH.unpack(source.read(LENGTH.size))[0])
        texts = job["texts"]
        words = {word for text in texts for word in text.split()}
        if "die" in words:
            raise SystemExit(1)
        if "hang" in words:
            continue
        if "fail" in words:
            _send({"id": job["id"], "failed": "RuntimeError"})
            continue
        rows = [struct.pack(f"<{DIMENSIONS}f", *vector(text)) for text in texts]
        if job["kind"] == "quantise":
            rows = [struct.pack(f"<f{DIMENSIONS}b", 1.0, *map(int, vector(text))) for text in texts]
        _send({"id": job["id"], "tokens": [len(text) for text in texts], "cut": [False for _ in texts]}, b"".join(rows))


if __name__ == "__main__":
    main()
