"""Clients that ask and do not read: their connection ends, and with it all that waited for it."""

import asyncio
import socket

from aiohttp import web

from gateway.web.listen_socket import bind
from tests.support.listening import listening
from tests.support.waiting import until

ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
PIECE = b"a" * 65_536


async def test_a_client_that_does_not_read_is_cut_and_one_that_reads_slowly_is_not() -> None:
    ended: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            for _ in range(80):
                await response.write(PIECE)
            ended.append("whole")
        except BaseException:
            ended.append("cut")
            raise
        return response

    async with listening(answer, stalled_s=0.5) as port:
        with socket.create_connection(("127.0.0.1", port), 5) as silent:
            silent.sendall(ASK)
            await until(lambda: ended == ["cut"], 5)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=65_536)
        writer.write(ASK)
        count, began_s = 0, asyncio.get_running_loop().time()
        async with asyncio.timeout(10):
            while ended == ["cut"]:
                count += len(await reader.read(65_536))
                if asyncio.get_running_loop().time() - began_s < 1:  # twice the limit
                    await asyncio.sleep(0.05)
        assert ended == ["cut", "whole"] and count > 0
        writer.close()


def test_the_kernel_gives_up_what_stays_unread() -> None:
    with bind("127.0.0.1", 0) as sock, socket.create_connection(sock.getsockname(), 5):
        sock.settimeout(5)
        connection = sock.accept()[0]
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000
