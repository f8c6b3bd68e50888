"""A parsing process: reads jobs from standard input and writes answers to standard output, one at a time.

`python -m gateway.engines.documents.parse_worker`. Frames are a 4-byte big-endian length and that many bytes; a job is
a JSON frame (the fields of ExtractOptions, `limit_s` and `cpu_s`, seconds) and a body frame, an answer is a JSON frame
(`{page}`, `{missing: message}` when the extra 'web' is not installed, or `{failed: message, code}`) and a frame with
the content of a file in UTF-8, which is empty for other tasks. The process ends when its input does. The kernel caps
its memory and the CPU time of each job, so that a hostile page ends this process and nothing else: Python answers what
needs more memory, a library that has none aborts the process (SIGABRT).
"""

import gc
import resource
import signal
import struct
import sys
from collections.abc import Callable
from typing import BinaryIO

import orjson

from gateway.domain import Json
from gateway.engines.documents import shortening
from gateway.engines.documents.feeds import read_sitemap
from gateway.engines.documents.memory_limit import limited_memory
from gateway.engines.documents.options import ExtractOptions
from gateway.engines.documents.page import extract
from gateway.engines.documents.page_picture import page_picture, plain_picture
from gateway.errors import EngineMissing, GatewayError

MAX_STACK_FRAMES = 3_000
"""Chosen: trees are walked recursively and engines.html lets elements nest 512 deep, at a few frames a level. Python's
own 1,000 fails such pages; a much larger limit lets recursion through C code overflow the stack, which ends the
process."""
_COLLECTED_OBJECTS = 10_000
"""New objects from which Python looks for cycles among them. Measured on 45 pages of bench.extract: extraction takes
3 % less CPU than at Python's own 700; 20,000 and 40,000 save nothing more."""
_GRACE_S = 5
"""Seconds past the server's own limit. Chosen: only a job whose server is gone is still running then."""
_LENGTH = struct.Struct(">I")


_TASKS: dict[str, Callable[[bytes, ExtractOptions], Json]] = {
    "page": extract,
    "file": extract,
    "sitemap": lambda body, options: read_sitemap(body, options.url),
    "shorten": lambda body, _: shortening.run(body),
    "picture": lambda body, options: page_picture(body, options.number),
    "plain picture": lambda body, _: plain_picture(body),
}
"""What a job of each `task` does with its body."""


def main() -> None:
    """Serves until end of input; an unexpected failure of one job is answered and does not end the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when to stop
    gc.set_threshold(_COLLECTED_OBJECTS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.setrecursionlimit(MAX_STACK_FRAMES)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while (header := _read_frame(source)) is not None:
        body = _read_frame(source)
        if body is None:
            return
        job = orjson.loads(header)
        answer, content = _run_job(job, body), b""
        if job["task"] == "file" and "page" in answer:
            content, answer["page"]["content"] = answer["page"]["content"].encode(), ""
        for frame in (orjson.dumps(answer), content):
            sink.write(_LENGTH.pack(len(frame)) + frame)
        sink.flush()
        gc.collect(1)
        del body, answer, content


def _read_frame(source: BinaryIO) -> bytes | None:
    head = source.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    size = _LENGTH.unpack(head)[0]
    return source.read(size)


def _run_job(job: Json, body: bytes) -> Json:
    limit_s = int(job.pop("limit_s", 30))
    signal.alarm(limit_s + _GRACE_S)  # ends the process when the server is gone and a page takes forever
    signal.setitimer(signal.ITIMER_PROF, float(job.pop("cpu_s", limit_s)))  # SIGPROF ends the process
    options = ExtractOptions(**job)
    try:
        with limited_memory(options.task, len(body)):
            return {"page": _TASKS[options.task](body, options)}
    except EngineMissing as error:
        return {"missing": error.message}
    except GatewayError as error:
        return {"failed": error.message, "code": error.code}
    except RecursionError:
        return {"failed": "the page is nested too deeply to be read", "code": "unparsable"}
    except Exception as error:  # a bug that one page meets must not end the process
        return {"failed": f"the page could not be read ({type(error).__name__})", "code": "unparsable"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


if __name__ == "__main__":
    main()
