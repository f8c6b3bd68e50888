"""The listening sockets of a gateway, and what is handed to a worker over its channel."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

from gateway.config.environment import Environment, handover_environment
from gateway.config.loader import load_config
from gateway.config.settings import Config
from gateway.runtime.fork_server import StartedWorker, receive
from gateway.runtime.service import Sockets, open_sockets
from gateway.web.listen_socket import bind


def config(folder: Path, server: str = "port = 0", ops: str = "port = 0") -> Config:
    (folder / "gateway.toml").write_text(f"[server]\n{server}\n[ops]\n{ops}\n")
    return load_config(folder / "gateway.toml", folder, Environment({}))


def handed_over(*sockets: socket.socket, **variables: str) -> Environment:
    passed = [0, *(os.dup(each.fileno()) for each in sockets)]
    return Environment({**variables, **handover_environment(Environment({}), passed)})


def port_of(sock: socket.socket | None) -> int:
    assert sock is not None
    return int(sock.getsockname()[1])


def test_the_address_of_the_documentation_is_that_of_the_ops_listener(tmp_path: Path) -> None:
    sockets = open_sockets(config(tmp_path, ops="port = 0"), Environment({}))
    assert sockets.docs_address == "" and len(sockets.descriptors()) == 1
    sockets.close()
    with bind("127.0.0.1", 0) as ops, bind("127.0.0.1", 0) as product:
        assert Sockets(product, ops).docs_address == f"127.0.0.1:{port_of(ops)}"


def test_a_taken_ops_port_leaves_no_product_socket_behind(tmp_path: Path) -> None:
    with bind("127.0.0.1", 0) as taken, bind("127.0.0.1", 0) as free:
        port = port_of(free)
        free.close()
        with pytest.raises(OSError, match="in use"):
            open_sockets(config(tmp_path, f"port = {port}", f"port = {port_of(taken)}"), Environment({}))
        bind("127.0.0.1", port).close()


def test_a_predecessors_sockets_are_kept_where_their_address_is_still_wanted(tmp_path: Path) -> None:
    with bind("127.0.0.1", 0) as product, bind("127.0.0.1", 0) as ops:
        same = config(tmp_path, f"port = {port_of(product)}", f"port = {port_of(ops)}")
        sockets = open_sockets(same, handed_over(product, ops))
        assert (port_of(sockets.product), port_of(sockets.ops)) == (port_of(product), port_of(ops))
        sockets.close()


def test_a_predecessors_sockets_give_way_to_new_addresses(tmp_path: Path) -> None:
    with bind("127.0.0.1", 0) as product, bind("127.0.0.1", 0) as ops, bind("127.0.0.1", 0) as free:
        wanted = port_of(free)
        free.close()
        sockets = open_sockets(config(tmp_path, f"port = {wanted}"), handed_over(product, ops))
        assert port_of(sockets.product) == wanted and sockets.ops is None
        sockets.close()


async def test_a_worker_receives_what_it_is_assigned_with_open_sockets() -> None:
    ours, theirs = socket.socketpair()
    process = os.pidfd_open(os.getpid())

    async def code(pid: int) -> int | None:
        return None

    worker = StartedWorker(os.getpid(), process, ours, code)
    assignment = {"large": "x" * 100_000}
    with bind("127.0.0.1", 0) as product:
        received = asyncio.create_task(asyncio.to_thread(receive, theirs))
        await asyncio.to_thread(worker.assign, assignment, [product.fileno()])
        what, descriptors = await received or (None, [])
        assert what == assignment
        with socket.socket(fileno=descriptors[0]) as passed:
            assert passed.getsockname() == product.getsockname()
    os.close(process)
    theirs.close()
    ours.close()


@pytest.mark.parametrize("sent", [b"", (50).to_bytes(8) + b"half"], ids=["nothing", "half of it"])
def test_a_supervisor_that_ends_too_early_assigns_nothing(sent: bytes) -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(sent)
    ours.close()
    assert receive(theirs) is None
    theirs.close()
