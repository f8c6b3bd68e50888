"""A stand-in for the embedding process, which needs no model: `python -m tests.support.scripted_embedding`.

Speaks the protocol of `gateway.child`. A text with the word `die` ends the process, one with
`hang` gets no answer, one with `fail` is answered as failed; any other has ones in as many places of its vector as it
has characters. With an argument it ends at once, as a broken installation does.
"""

import os
import struct
import sys

from gateway.child.worker import JobPipe
from gateway.engines.embedding.embedder import DIMENSIONS

COMMAND = (sys.executable, "-m", "tests.support.scripted_embedding")
BROKEN = (*COMMAND, "broken")


def vector(text: str) -> list[float]:
    return [1.0 if place < len(text) else 0.0 for place in range(DIMENSIONS)]


def main() -> None:
    if len(sys.argv) > 1:
        raise SystemExit(3)
    channel = JobPipe()
    channel.hello({"version": "scripted"})
    while True:
        job = channel.next_job()
        texts = job.head["texts"]
        words = {word for text in texts for word in text.split()}
        if "die" in words:
            os._exit(1)
        if "hang" in words:
            continue
        if "fail" in words:
            job.end({"failed": "RuntimeError"})
            continue
        rows = [struct.pack(f"<{DIMENSIONS}f", *vector(text)) for text in texts]
        if job.head["kind"] == "quantise":
            rows = [struct.pack(f"<f{DIMENSIONS}b", 1.0, *map(int, vector(text))) for text in texts]
        job.end({"tokens": [len(text) for text in texts], "cut": [False for _ in texts]}, b"".join(rows))


if __name__ == "__main__":
    main()
