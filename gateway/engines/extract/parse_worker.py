"""A parsing process: reads jobs from standard input, writes pages to standard output, one at a time.

`python -m gateway.engines.extract.parse_worker`. Frames are a 4-byte big-endian length and that many bytes; a job is
a JSON frame (ExtractOptions) and a body frame, an answer one JSON frame. It ends when its input does. Memory is
capped by the kernel, so that a hostile page ends this process and nothing else.
"""

import gc
import resource
import signal
import struct
import sys
from typing import BinaryIO

import orjson

from gateway.domain import Json
from gateway.engines.extract.page import ExtractOptions, extract
from gateway.errors import EngineMissing, GatewayError

MEMORY_BYTES = 1_500_000_000
_LENGTH = struct.Struct(">I")


def main() -> None:
    """Serves until end of input; an unexpected failure of one page is answered, not fatal."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when to stop
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.setrecursionlimit(3000)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while (header := _frame(source)) is not None:
        body = _frame(source)
        if body is None:
            return
        answer = orjson.dumps(_answer(orjson.loads(header), body))
        sink.write(_LENGTH.pack(len(answer)) + answer)
        sink.flush()
        gc.collect(1)


def _frame(source: BinaryIO) -> bytes | None:
    head = source.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    size = _LENGTH.unpack(head)[0]
    return source.read(size)


def _answer(job: Json, body: bytes) -> Json:
    limit_s = int(job.pop("limit_s", 30))
    signal.alarm(limit_s + 5)  # should the server be gone, a page that never ends must not keep this process
    try:
        return {"page": extract(body, ExtractOptions(**job))}
    except EngineMissing as error:
        return {"missing": error.message}
    except GatewayError as error:
        return {"failed": error.message, "code": error.code}
    except MemoryError:
        return {"failed": "the page needs too much memory to be read", "code": "too_large"}
    except RecursionError:
        return {"failed": "the page is nested too deeply to be read", "code": "unparsable"}
    except Exception as error:  # one page's surprise must not cost the process
        return {"failed": f"the page could not be read ({type(error).__name__})", "code": "unparsable"}
    finally:
        signal.alarm(0)


if __name__ == "__main__":
    main()
