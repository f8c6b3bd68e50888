"""The fork server's own process: imports the application once, then forks a worker for each request of the supervisor.

It serves nothing, so its memory stays as it was after the import, and its workers share it: a new worker listens within
a twentieth of a second instead of after a second of importing. It has one thread and no event loop, since neither
survives a fork. `fork_server` is the supervisor's side and has the messages. Knows no configuration and no socket that
is served.
"""

import gc
import importlib
import os
import select
import signal
import socket
from pathlib import Path

from gateway.runtime.fork_server import CAN_FORK, ENDED, FAILED, MAX_MESSAGE_BYTES, STARTED

_NAME, _WORKER_NAME = "gateway-fork", "gateway-worker"
"""Names of the processes, as `ps -o comm` and `top` show them. Chosen; the kernel keeps 15 bytes."""


def run(channel: socket.socket) -> int:
    """Fork workers until the supervisor has ended. Returns the exit code, in this process and in every worker."""
    os.setsid()  # only the supervisor shall receive a terminal's Ctrl-C
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _set_name(_NAME)
    gc.disable()  # next to nothing of an import is garbage; looking for it takes a tenth of the time
    work = importlib.import_module("gateway.runtime.worker").work
    gc.freeze()  # a worker's collections shall not write to memory that it shares
    try:
        assigned = _fork_workers(channel)
    except (BrokenPipeError, ConnectionResetError):
        return 0  # the supervisor has ended
    if assigned is None:
        return 0
    gc.enable()
    code: int = work(assigned)
    return code


def _fork_workers(channel: socket.socket) -> socket.socket | None:
    """In this process: fork until the channel ends, then return None. In a worker: return its own channel."""
    poller = select.poll()
    poller.register(channel, select.POLLIN)
    running: dict[int, int] = {}  # descriptor of a worker's process -> its id
    channel.send(CAN_FORK)
    while True:
        for descriptor, _ in poller.poll():
            if descriptor in running:
                poller.unregister(descriptor)
                _report_end(channel, running.pop(descriptor))
                os.close(descriptor)
                continue
            request, passed, _, _ = socket.recv_fds(channel, MAX_MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC)
            if not request:
                return None
            try:
                pid = os.fork()
            except OSError as error:  # no memory, or TasksMax
                channel.send(FAILED + b" %d" % (error.errno or 0))
                os.close(passed[0])
                continue
            if pid == 0:
                for each in (channel.detach(), *running):
                    os.close(each)
                _set_name(_WORKER_NAME)
                return socket.socket(fileno=passed[0])
            os.close(passed[0])
            process = os.pidfd_open(pid)
            socket.send_fds(channel, [STARTED + b" %d" % pid], [process])
            running[process] = pid
            poller.register(process, select.POLLIN)


def _report_end(channel: socket.socket, pid: int) -> None:
    _, status = os.waitpid(pid, 0)
    channel.send(ENDED + b" %d %d" % (pid, os.waitstatus_to_exitcode(status)))


def _set_name(name: str) -> None:
    Path("/proc/self/comm").write_text(name)
