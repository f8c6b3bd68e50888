"""Takes this process out of every network, for good: it and all that it starts can open no connection.

By a network namespace of its own, for which a user namespace gives the right. A process in which neither can be had is
told so and must not start a browser. Linux only: unshare(2), user_namespaces(7), network_namespaces(7), read
2026-11-22. Call everything here before the process has a second thread.
"""

import ctypes
import os
import socket
from pathlib import Path

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000  # linux/sched.h
_PR_SET_DUMPABLE = 4  # linux/prctl.h: a process that changed its user owns its files in /proc again
NOBODY = 65_534  # the user of a browser that root starts: Chromium's sandbox does not work for root


class NoIsolation(Exception):
    """The kernel, a container or a unit does not allow a network namespace."""


def has_network() -> bool:
    """Whether this process has any interface but the loopback one of its own namespace, or any route."""
    if any(name != "lo" for _, name in socket.if_nameindex()):
        return True
    routes = Path("/proc/net/route").read_text(encoding="utf-8").splitlines()[1:]
    return any(line.split("\t", 1)[0] != "lo" for line in routes)


def become_nobody() -> None:
    """Give up root, where the process has it. Raises OSError."""
    if os.geteuid() != 0:
        return
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def leave_network() -> None:
    """Move into a network namespace without interfaces, unless the process is in one. Raises NoIsolation.

    Root needs no user namespace for it, and goes without: in one, it would not know its callers' users any more.
    """
    if not has_network():
        return
    user, group = os.geteuid(), os.getegid()
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(_CLONE_NEWNET) != 0:
        if library.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
            raise NoIsolation(f"no network namespace can be had ({os.strerror(ctypes.get_errno())})")
        try:
            Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="utf-8")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="utf-8")
        except OSError as error:
            raise NoIsolation(f"no user namespace can be had ({error.strerror})") from error
    if has_network():
        raise NoIsolation("the new network namespace has a network")
