"""What systemd hears, on a real datagram socket."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateway.runtime.control import Notifier


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(2)
        yield sock


def heard(sock: socket.socket) -> list[str]:
    return sock.recv(4096).decode().split("\n")


def test_readiness_comes_with_a_status_line(systemd: socket.socket) -> None:
    Notifier(systemd.getsockname()).ready("serving on http://127.0.0.1:8080")
    assert heard(systemd) == ["READY=1", "STATUS=serving on http://127.0.0.1:8080"]


def test_stopping_and_a_sign_of_life_are_one_datagram_each(systemd: socket.socket) -> None:
    notifier = Notifier(systemd.getsockname())
    notifier.alive()
    notifier.stopping()
    assert [heard(systemd) for _ in range(2)] == [["WATCHDOG=1"], ["STOPPING=1", "STATUS=draining"]]


def test_a_name_with_an_at_sign_is_in_the_abstract_namespace() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind("")  # the kernel chooses an abstract name
        sock.settimeout(2)
        Notifier("@" + sock.getsockname()[1:].decode()).alive()
        assert heard(sock) == ["WATCHDOG=1"]


def test_no_line_can_be_smuggled_in_through_a_status(systemd: socket.socket) -> None:
    Notifier(systemd.getsockname()).ready("one\nMAINPID=1")
    assert heard(systemd) == ["READY=1", "STATUS=one MAINPID=1"]


def test_without_systemd_nothing_happens_and_nothing_fails(tmp_path: Path) -> None:
    Notifier("").ready("x")
    Notifier(str(tmp_path / "nobody-listens")).alive()
    Notifier("/" + "x" * 200).alive()


def test_a_full_socket_never_blocks_the_caller(systemd: socket.socket) -> None:
    notifier = Notifier(systemd.getsockname())
    for _ in range(5000):
        notifier.alive()
    assert heard(systemd) == ["WATCHDOG=1"]


def test_readiness_waits_for_room_in_a_full_socket(systemd: socket.socket) -> None:
    notifier = Notifier(systemd.getsockname())
    for _ in range(5000):
        notifier.alive()
    with ThreadPoolExecutor(1) as pool:
        said = pool.submit(notifier.ready, "up")
        while (lines := heard(systemd)) == ["WATCHDOG=1"]:
            pass
        said.result(5)
    assert lines == ["READY=1", "STATUS=up"]
