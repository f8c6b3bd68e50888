"""Connections when a server begins to drain: who has asked, or is about to, is answered; the idle go soon."""

import asyncio
import select
import shutil
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from gateway.calls.in_flight import InFlight
from gateway.config.loader import LoadedTls, loaded
from gateway.config.settings import Tls
from gateway.web.listen_socket import bind
from gateway.web.server.connections import LINGER_S
from gateway.web.server.runner import _SHORT_S, Listener
from gateway.web.state import IN_FLIGHT
from tests.support.connect_proxy import PrivateAuthority
from tests.support.waiting import until

ASK = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"


@asynccontextmanager
async def listening(
    sock: socket.socket | None = None, tls: LoadedTls | None = None
) -> AsyncIterator[tuple[Listener, int, asyncio.Event]]:
    """A listener, its port, and the event on which requests for `/held` are answered. `sock`: what it listens on."""
    go_on = asyncio.Event()

    async def answer(request: web.Request) -> web.Response:
        task = request.app[IN_FLIGHT].enter()
        try:
            if request.path == "/held":
                await go_on.wait()
            return web.Response(text="served")
        finally:
            request.app[IN_FLIGHT].leave(task)

    app = web.Application()
    app[IN_FLIGHT] = InFlight(10)
    app.router.add_post("/{path:.*}", answer)
    listener, sock = Listener(app, header_timeout_s=5), sock or bind("127.0.0.1", 0)
    await listener.start([sock], tls)
    try:
        yield listener, sock.getsockname()[1], go_on
    finally:
        await listener.close()


async def answered(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(3):
        return await reader.readuntil(b"served")


async def test_a_connection_is_answered_or_left_in_the_queue_whenever_the_drain_begins() -> None:
    """It passes through several turns of the loop from the queue to its first read; none of them may lose it."""
    await asyncio.gather(*map(_drained_after, range(6)))


async def _drained_after(turns: int) -> None:
    with bind("127.0.0.1", 0) as kept:  # as the supervisor keeps it for the next instance
        async with listening(kept.dup()) as (listener, port, _):
            with socket.create_connection(("127.0.0.1", port), 5) as client:
                client.sendall(ASK)
                for _ in range(turns):
                    await asyncio.sleep(0)
                assert await asyncio.wait_for(listener.drain(5), 5) == 0
                await listener.close()
                if not select.select([kept], [], [], 0)[0]:
                    client.setblocking(False)
                    assert b"200 OK" in (await asyncio.wait_for(asyncio.get_running_loop().sock_recv(client, 65536), 3))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make certificates")
async def test_a_tls_handshake_that_has_begun_is_finished_and_its_request_answered(tmp_path: Path) -> None:
    authority = PrivateAuthority(tmp_path)
    authority.server_context("localhost")
    tls = loaded(Tls(str(tmp_path / "server.pem"), str(tmp_path / "server.key")))
    with bind("127.0.0.1", 0) as kept:
        async with listening(kept.dup(), tls) as (listener, port, _):
            client = socket.create_connection(("127.0.0.1", port), 5)
            client.setblocking(False)
            for _ in range(3):  # accepted, and nothing of the handshake has come
                await asyncio.sleep(0)
            draining = asyncio.create_task(listener.drain(5))
            await asyncio.sleep(LINGER_S / 2)
            assert not draining.done()
            trusting = ssl.create_default_context(cafile=str(authority.file))
            reader, writer = await asyncio.open_connection(sock=client, ssl=trusting, server_hostname="localhost")
            writer.write(ASK)
            assert b"200 OK" in await answered(reader)
            writer.close()
            assert await asyncio.wait_for(draining, 5) == 0


async def test_a_kept_alive_connection_is_answered_once_more_and_told_to_close() -> None:
    async with listening() as (listener, port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(ASK)
        assert b"connection: close" not in (await answered(reader)).lower()
        draining = asyncio.create_task(listener.drain(5))
        await asyncio.sleep(LINGER_S / 4)
        writer.write(ASK)
        await answered(reader)
        assert await asyncio.wait_for(reader.read(), 3) == b""
        writer.close()
        assert await asyncio.wait_for(draining, 5) == 0


async def test_an_idle_connection_is_closed_soon_while_another_is_served_to_its_end() -> None:
    async with listening() as (listener, port, go_on):
        idle_reader, idle_writer = await asyncio.open_connection("127.0.0.1", port)
        idle_writer.write(ASK)
        await answered(idle_reader)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(ASK.replace(b"POST /", b"POST /held"))
        draining = asyncio.create_task(listener.drain(5))
        assert await asyncio.wait_for(idle_reader.read(), 2 * LINGER_S + 1) == b"" and not draining.done()
        go_on.set()
        assert b"200 OK" in await answered(reader) and await asyncio.wait_for(draining, 5) == 0
        idle_writer.close()
        writer.close()


async def test_a_listener_that_was_replaced_answers_what_was_asked_and_closes_the_idle_connections() -> None:
    async with listening() as (listener, port, go_on):
        idle_reader, idle_writer = await asyncio.open_connection("127.0.0.1", port)
        reader, writer = await held(listener, port, 1)
        leaving = asyncio.create_task(listener.let_go(10))
        assert await asyncio.wait_for(idle_reader.read(), 2 * LINGER_S + 1) == b""
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        assert not leaving.done()
        go_on.set()
        assert b"200 OK" in await answered(reader)
        await asyncio.wait_for(leaving, 5)
        for each in (idle_writer, writer):
            each.close()


async def held(listener: Listener, port: int, count: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A request that is held; the server has `count` of them then."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(ASK.replace(b"POST /", b"POST /held"))
    await until(lambda: len(listener._app[IN_FLIGHT]) == count, 5)
    return reader, writer


async def test_a_socket_that_lives_on_is_accepted_from_until_what_ran_has_ended() -> None:
    async with listening() as (listener, port, go_on):
        reader, writer = await held(listener, port, 1)
        draining = asyncio.create_task(listener.drain(5, keep_accepting=True))
        for _ in range(3):
            new_reader, new_writer = await asyncio.open_connection("127.0.0.1", port)
            new_writer.write(ASK)
            assert b"200 OK" in await answered(new_reader)
            new_writer.close()
        assert not draining.done()
        go_on.set()
        assert b"200 OK" in await answered(reader) and await asyncio.wait_for(draining, 2) == 0
        writer.close()


async def test_connections_are_accepted_while_an_older_configuration_finishes() -> None:
    older = asyncio.create_task(asyncio.sleep(0.3))
    async with listening() as (listener, port, _):
        draining = asyncio.create_task(listener.drain(5, keep_accepting=True, older=[older]))
        await asyncio.sleep(0.1)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(ASK)
        assert b"200 OK" in await answered(reader) and not draining.done()
        assert await asyncio.wait_for(draining, 2) == 0 and older.done()
        writer.close()


async def test_what_began_meanwhile_is_finished_though_nothing_more_is_accepted() -> None:
    async with listening() as (listener, port, go_on):
        _, first = await held(listener, port, 1)
        draining = asyncio.create_task(listener.drain(5, keep_accepting=True))
        reader, second = await held(listener, port, 2)
        first.close()
        await until(lambda: not listener._runner.sites, 5)
        await asyncio.sleep(_SHORT_S + 0.1)
        go_on.set()
        assert b"200 OK" in await answered(reader) and await asyncio.wait_for(draining, 2) == 0
        second.close()


async def test_what_began_meanwhile_and_lasts_is_ended_so_that_new_connections_do_not_wait() -> None:
    async with listening() as (listener, port, _):
        _, first = await held(listener, port, 1)
        draining = asyncio.create_task(listener.drain(0.5, keep_accepting=True))
        _, second = await held(listener, port, 2)
        assert await asyncio.wait_for(draining, 3) == 2
        first.close()
        second.close()
