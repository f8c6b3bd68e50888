"""An HTTP proxy for tests, and a private certificate authority."""

import asyncio
import base64
import contextlib
import ssl
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_NEW_KEY = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"


@dataclass
class ConnectProxy:
    """`async with`. Does CONNECT and plain requests; `heads` are the heads of the requests that it got. With `auth`
    ("USER:PASSWORD") it refuses the others with 407; with `refuses` it answers every request so. With `tls` it is
    reached by TLS, as localhost."""

    auth: str = ""
    refuses: int = 0
    tls: ssl.SSLContext | None = None
    heads: list[str] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        host, port = self._server.sockets[0].getsockname()
        self.url = f"https://localhost:{port}" if self.tls else f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        method, target, _ = head.split("\r\n", 1)[0].split()
        expected = "Basic " + base64.b64encode(self.auth.encode()).decode()
        status = self.refuses or (407 if self.auth and f"Proxy-Authorization: {expected}\r\n" not in head else 0)
        if status:
            writer.write(f"HTTP/1.1 {status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
            await writer.drain()
            return
        url = urlsplit(f"//{target}" if method == "CONNECT" else target)
        upstream_reader, upstream_writer = await asyncio.open_connection(url.hostname, url.port)
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            upstream_writer.write(head.replace(target, url.path, 1).encode())
        await asyncio.gather(_copy(reader, upstream_writer), _copy(upstream_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
    writer.close()


class PrivateAuthority:
    """A certificate authority in `folder`. `file`: its certificate."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.file = folder, folder / "ca.pem"
        _openssl(folder, f"req -x509 {_NEW_KEY} -days 2 -subj /CN=Test-CA -keyout ca.key -out ca.pem "
                 "-addext basicConstraints=critical,CA:TRUE -addext keyUsage=keyCertSign")  # fmt: skip

    def server_context(self, name: str, days: int = 2) -> ssl.SSLContext:
        """For a server with a certificate for `name`; it has expired with `days` below 0."""
        (self._folder / "ext").write_text(f"subjectAltName=DNS:{name}\n")
        _openssl(self._folder, f"req {_NEW_KEY} -subj /CN={name} -keyout server.key -out server.csr")
        _openssl(self._folder, "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial "
                 f"-days {days} -extfile ext -out server.pem")  # fmt: skip
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._folder / "server.pem", self._folder / "server.key")
        return context


def _openssl(folder: Path, arguments: str) -> None:
    subprocess.run(["openssl", *arguments.split()], cwd=folder, check=True, capture_output=True, timeout=60)


def make_certificate(folder: Path) -> None:
    """A new `cert.pem` for localhost that signs itself, and its `key.pem`."""
    _openssl(folder, f"req -x509 {_NEW_KEY} -subj /CN=localhost -days 2 -keyout key.pem -out cert.pem")
