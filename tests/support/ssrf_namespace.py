"""A network of its own in which every address in the world is this machine: what the safe fetcher may not reach.

`python -m tests.support.ssrf_namespace` unshares the network, routes all of IPv4 and IPv6 to the loopback device,
listens there as the canary, as a public web server and as the name server, runs the vectors through the real fetcher
and engine with no allow-list, and prints one JSON report. A connection is judged by the address it arrived at. Exit
status 77 means that namespaces are not permitted here. Linux: unshare(2), rtnetlink(7), read 2026-11-21.
"""

import asyncio
import contextlib
import ctypes
import fcntl
import json
import os
import socket
import struct
import sys
import tempfile
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from gateway.config.settings import Web
from gateway.domain import CrawlRequest, ExtractRequest
from gateway.engines.fetch.address_policy import AddressPolicy
from gateway.engines.fetch.errors import FetchFailed
from gateway.engines.fetch.fetcher import Fetcher, FetchLimits
from tests.support.paths import GOLDEN
from tests.support.websites import engine

NOT_PERMITTED = 77
VECTORS = json.loads((GOLDEN / "ssrf_vectors.json").read_text())
PUBLIC = ("93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946")
INSIDE = json.loads((GOLDEN / "inside_addresses.json").read_text())
_RESOLVED = json.loads((GOLDEN / "ssrf_names.json").read_text())
"""What the name server says, one list per question, the last for all later ones."""


def enter() -> bool:
    """Moves this process into a network namespace whose loopback device has every address; False if not permitted."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_net, new_user = 0x4000_0000, 0x1000_0000
    if libc.unshare(new_net) != 0 and libc.unshare(new_user | new_net) != 0:
        return False
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            request = struct.pack("16sH14x", b"lo", 0x1 | 0x40)  # IFF_UP, IFF_RUNNING
            fcntl.ioctl(control, 0x8914, request)  # SIOCSIFFLAGS
        _route_all(socket.AF_INET)
    except OSError:
        return False
    with contextlib.suppress(OSError):  # a kernel without IPv6: the report says which addresses could be tried
        _route_all(socket.AF_INET6)
    return True


def _route_all(family: int) -> None:
    """`ip route add local default dev lo`."""
    rtm_newroute, flags = 24, 0x1 | 0x4 | 0x400  # request, acknowledge, create
    body = struct.pack("=BBBBBBBBI", family, 0, 0, 0, 255, 4, 254, 2, 0)  # table local, static, scope host, type local
    body += struct.pack("=HHI", 8, 4, socket.if_nametoindex("lo"))  # RTA_OIF
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        link.settimeout(5)
        link.send(struct.pack("=IHHII", 16 + len(body), rtm_newroute, flags, 1, 0) + body)
        error = struct.unpack_from("=i", link.recv(4096), 16)[0]
    if error:
        raise OSError(-error, os.strerror(-error))


class World:
    """Every server there is. `arrived` holds the address and path of each connection."""

    def __init__(self) -> None:
        self.arrived: list[str] = []
        self.pages: dict[str, tuple[str, str]] = {}
        self.ports: list[int] = []
        self._servers: list[asyncio.Server] = []

    async def open(self) -> None:
        for port in (80, 443, 8080, 0):
            server = await asyncio.start_server(self._serve, None, port or 18_080)
            self._servers.append(server)
            self.ports.append(server.sockets[0].getsockname()[1])

    def inside(self) -> list[str]:
        """Which addresses that are not public were connected to."""
        return [address for address in self.arrived if address not in PUBLIC]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("sockname")[0].partition("%")[0]
        self.arrived.append(str(ip_address(address).ipv4_mapped or address) if ":" in address else address)  # type: ignore[union-attr]
        try:
            async with asyncio.timeout(5):
                head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ")[1].decode() if b" " in head else "/"
            status, more = self.pages.get(path, ("200 OK", "Content-Type: text/html\r\n\r\n<p>canary</p>"))
            writer.write(f"HTTP/1.1 {status}\r\nConnection: close\r\n{more}".encode())
            await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()


class NameServer(asyncio.DatagramProtocol):
    """Answers A and AAAA questions from the table; a name outside it does not exist. RFC 1035."""

    def __init__(self) -> None:
        self.asked: dict[tuple[str, int], int] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode().lower())
            at += data[at] + 1
        kind = struct.unpack_from(">H", data, at + 1)[0]
        question, name = data[12 : at + 5], ".".join(labels)
        answers = _RESOLVED.get(name)
        turn = self.asked.get((name, kind), 0)
        self.asked[name, kind] = turn + 1
        chosen = answers[min(turn, len(answers) - 1)] if answers else []
        found = [ip_address(text).packed for text in chosen if (":" in text) == (kind == 28)]
        records = b"".join(
            b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(packed)) + packed for packed in found if kind in (1, 28)
        )
        code = 0x8180 if answers else 0x8183
        head = data[:2] + struct.pack(">HHHHH", code, 1, len(found) if kind in (1, 28) else 0, 0, 0)
        self._transport.sendto(head + question + records, addr)  # type: ignore[attr-defined]


async def _reachable(address: str, port: int) -> bool:
    """The control: a plain connection does arrive, so that a refusal is the fetcher's doing."""
    try:
        async with asyncio.timeout(2):
            _, writer = await asyncio.open_connection(address, port)
    except OSError:
        return False
    writer.close()
    return True


def literal(address: str) -> str:
    return f"[{address}]" if ":" in address else address


async def _attempt(fetcher: Fetcher, url: str) -> str:
    try:
        await fetcher.fetch(url)
    except FetchFailed as failure:
        return failure.code
    return "fetched"


async def report() -> dict[str, Any]:
    world, names = World(), NameServer()
    await world.open()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: names, local_addr=("0.0.0.0", 53))
    tried = [address for address in INSIDE if await _reachable(address, 80)]
    public = [address for address in PUBLIC if await _reachable(address, 80)]
    world.arrived.clear()
    fetcher = Fetcher(AddressPolicy(), "test", FetchLimits(total_s=5.0))
    said: dict[str, Any] = {"tried": tried, "public": public, "ports": world.ports}
    said["control"] = [await _attempt(fetcher, f"http://{literal(address)}/") for address in public]
    said["resolved"] = await _attempt(fetcher, "http://public.test/")
    targets = [vector.replace("{p}", str(port)) for vector in VECTORS for port in (80, world.ports[-1])]
    targets = list(dict.fromkeys(targets))
    targets += [f"http://{literal(address)}:{port}/" for address in tried for port in (80, 8080)]
    targets += [f"http://{name}/" for name in _RESOLVED if name not in ("public.test", "rebind.test")]
    codes = {url: await _attempt(fetcher, url) for url in targets}
    said["targets"] = len(targets)
    said["fetched"] = [url for url, code in codes.items() if code == "fetched"]
    said["other_codes"] = {url: code for url, code in codes.items() if code not in ("fetched", "url_refused")}
    said["rebinding"] = [await _attempt(fetcher, "http://rebind.test/") for _ in range(6)]
    said["redirected"] = await _redirected(world, fetcher, targets)
    await fetcher.close()
    said["lured"] = await _lured(world, targets)
    said["inside"] = world.inside()
    transport.close()
    return said


async def _redirected(world: World, fetcher: Fetcher, targets: list[str]) -> list[str]:
    """Which targets a public page could redirect the fetcher to."""
    got = []
    for number, target in enumerate(targets):
        location = target.replace("\r", "").replace("\n", "").encode("ascii", "ignore").decode()
        if not location.startswith(("http", "//")):
            continue
        world.pages[f"/r{number}"] = (f"{(301, 302, 303, 307, 308)[number % 5]} Moved", f"Location: {location}\r\n\r\n")
        before = len(world.inside())
        await _attempt(fetcher, f"http://{PUBLIC[0]}/r{number}")
        if len(world.inside()) > before:
            got.append(target)
    return got


async def _lured(world: World, targets: list[str]) -> int:
    """A public site that points inside by every means it has: links, frames, images, refreshes, sitemap, robots."""
    usable = [target for target in targets if target.startswith("http://") and '"' not in target]
    links = "".join(f'<a href="{target}">x</a><iframe src="{target}"></iframe>' for target in usable)
    text = "Words of a page that is long enough to be kept. " * 10
    html = "Content-Type: text/html\r\n\r\n"
    world.pages["/lure"] = ("200 OK", f"{html}<main><h1>Lure</h1><p>{text}</p>{links}</main>")
    world.pages["/robots.txt"] = ("302 Found", "Location: http://169.254.169.254/robots.txt\r\n\r\n")
    sitemap = "".join(f"<url><loc>{target}</loc></url>" for target in usable)
    world.pages["/sitemap.xml"] = ("200 OK", f"Content-Type: text/xml\r\n\r\n<urlset>{sitemap}</urlset>")
    head = '<meta http-equiv="refresh" content="0; url=http://10.0.0.1/"><link rel=icon href="http://10.0.0.1/i.ico">'
    world.pages["/refresh"] = ("200 OK", f"{html}{head}")
    site = f"http://{PUBLIC[0]}"
    with tempfile.TemporaryDirectory() as state:
        async with engine(Path(state), limits=FetchLimits(total_s=5.0), **_settings()) as made:
            request = ExtractRequest((f"{site}/lure", f"{site}/refresh"), include_images=True, include_favicon=True)
            extracted = await made.web.extract(request, made.call())
            crawl = CrawlRequest(f"{site}/lure", max_depth=2, max_breadth=500, limit=500)
            await made.web.crawl(crawl, made.call())
            await made.web.map(crawl, made.call())
    return len(extracted["results"])


def _settings() -> dict[str, Any]:
    return {"crawl_budget_s": 20.0, "user_agent": Web().user_agent}


def main() -> int:
    if not enter():
        return NOT_PERMITTED
    print(json.dumps(asyncio.run(report())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
