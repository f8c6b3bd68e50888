"""An embedded OCR server in a process of its own, for tests."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SERVE = "from gateway.local.ocr_server import serve; serve(0, 2)"
STOP_S = 20


@contextmanager
def ocr_server() -> Iterator[str]:
    """Its base URL, without a slash at its end. It must end by itself when it is told to."""
    process = subprocess.Popen([sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        word, port = process.stdout.readline().split()
        assert word == "ready"
        yield f"http://127.0.0.1:{port}"
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_S) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
