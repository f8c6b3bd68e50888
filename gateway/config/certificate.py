"""The certificate of `server.tls`, read once with the configuration.

What was read goes with the configuration to every worker, also to one that replaces a dead one later: files that break
meanwhile keep nobody from serving, and all workers serve the same certificate.
"""

import os
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gateway.config.server_settings import Tls


@dataclass(frozen=True, slots=True)
class LoadedTls(Tls):
    """The files, and what they held: PEM, the key without a password."""

    cert_pem: bytes = field(repr=False)
    key_pem: bytes = field(repr=False)

    def context(self) -> ssl.SSLContext:
        """For a server. Raises ssl.SSLError when the two cannot be used together."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        with ExitStack() as files:
            # the library takes files alone, and a private key must not lie in another one on disk
            cert, key = (files.enter_context(_file_of(pem)) for pem in (self.cert_pem, self.key_pem))
            context.load_cert_chain(cert, key, password="")
        return context


def read_certificate(tls: Tls) -> LoadedTls:
    """What the files hold now. Raises OSError with a reason for the operator; nothing else."""
    try:
        loaded = LoadedTls(tls.cert, tls.key, Path(tls.cert).read_bytes(), Path(tls.key).read_bytes())
        loaded.context()
    except ssl.SSLError:
        raise OSError(
            f"{tls.cert} and {tls.key} cannot be used: they must be PEM, and the key must be that of the certificate, "
            "without a password"
        ) from None
    except OSError as error:
        raise OSError(f"{error.filename or tls.cert} cannot be used: {error.strerror}") from None
    return loaded


def loaded(tls: Tls | None) -> LoadedTls | None:
    """What was read with the configuration; for one that was not read from a file, what the files hold now. Raises
    OSError."""
    return tls if tls is None or isinstance(tls, LoadedTls) else read_certificate(tls)


@contextmanager
def _file_of(content: bytes) -> Iterator[str]:
    """A path below which this process alone finds the content, in memory."""
    descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
