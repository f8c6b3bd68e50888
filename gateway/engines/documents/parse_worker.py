"""A parsing process: reads the bodies that `parse_pool` sends, one at a time (`gateway.child.worker` has the protocol).

`python -m gateway.engines.documents.parse_worker`. A job is `{options: the fields of ExtractOptions, cpu_s}` and a
body. The first message is `{thread}`, the kernel's number of the thread that reads it. The answer is `{page}`,
`{missing: message}` when an extra is not installed, or `{failed: message, code}`, and the content of a file in UTF-8,
which is empty for other tasks. The kernel caps memory and CPU time of each job, so that a hostile page ends this
process and nothing else.
"""

import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable

import orjson

from gateway.child import worker
from gateway.domain import Json
from gateway.engines.documents.feeds import read_sitemap
from gateway.engines.documents.page import extract
from gateway.engines.documents.page_picture import page_picture, plain_picture
from gateway.engines.documents.parse_pool import ExtractOptions, memory_limit, out_of_memory
from gateway.engines.words.excerpt import shorten
from gateway.errors import EngineMissing, GatewayError

MAX_STACK_FRAMES = 3_000
"""Trees are walked recursively and engines.html lets elements nest 512 deep, at a few frames a level; a much larger
limit lets recursion through C code overflow the stack, which ends the process."""
_STACK_BYTES = 8 << 20
"""Stack of the thread that reads: as much as Linux gives a process's first one."""
_COLLECTED_OBJECTS = 10_000
"""New objects from which Python looks for cycles among them. Measured on 45 pages of bench.extract: extraction takes
3 % less CPU than at Python's own 700."""
_FIRST_BODY = b"<title>first</title><main><p>What reads pages is imported with the first one.</p></main>"


def _shortened(body: bytes, _: ExtractOptions) -> Json:
    """`{texts}` for a body `[max_chars, texts]`."""
    max_chars, texts = orjson.loads(body)
    return {"texts": [shorten(text, max_chars) for text in texts]}


_TASKS: dict[str, Callable[[bytes, ExtractOptions], Json]] = {
    "page": extract,
    "file": extract,
    "sitemap": lambda body, options: read_sitemap(body, options.url),
    "shorten": _shortened,
    "picture": lambda body, options: page_picture(body, options.number),
    "plain picture": lambda body, _: plain_picture(body),
}
"""What a job of each `task` does with its body."""


def main() -> None:
    """Serves until end of input; an unexpected failure of one job is answered and does not end the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when to stop
    gc.set_threshold(_COLLECTED_OBJECTS)
    worker.limit_process()
    sys.setrecursionlimit(MAX_STACK_FRAMES)
    channel = worker.JobPipe()
    with contextlib.suppress(EngineMissing):  # a page will say so
        extract(_FIRST_BODY, ExtractOptions(""))
    channel.hello({})
    threading.stack_size(_STACK_BYTES)
    while True:
        thread = threading.Thread(target=_read, args=(channel,))
        thread.start()
        thread.join()


def _read(channel: worker.JobPipe) -> None:
    """Do jobs until the server has lowered the priority of the thread."""
    nice = os.getpriority(os.PRIO_PROCESS, 0)  # of the thread that asks
    while os.getpriority(os.PRIO_PROCESS, 0) == nice:
        job = channel.next_job()
        job.send({"thread": threading.get_native_id()})
        options = ExtractOptions(**job.head["options"])
        answer, content = _answer(job, options), b""
        if options.task == "file" and "page" in answer:
            content, answer["page"]["content"] = answer["page"]["content"].encode(), ""
        job.end(answer, content)
        del job, answer, content
        gc.collect(1)


def _answer(job: worker.WorkerJob, options: ExtractOptions) -> Json:
    try:
        with worker.limited(memory_limit(options.task) + len(job.body), job.head["cpu_s"]):
            return {"page": _TASKS[options.task](job.body, options)}
    except MemoryError:
        return {"failed": out_of_memory(options.task).message, "code": "too_large"}
    except EngineMissing as error:
        return {"missing": error.message}
    except GatewayError as error:
        return {"failed": error.message, "code": error.code}
    except RecursionError:
        return {"failed": "the page is nested too deeply to be read", "code": "unparsable"}
    except Exception as error:  # a bug that one page meets must not end the process
        return {"failed": f"the page could not be read ({type(error).__name__})", "code": "unparsable"}


if __name__ == "__main__":
    main()
