"""Whether the files of `server.tls` could be read again: a broken one is told before a reload or a restart needs it."""

import logging
from pathlib import Path

from gateway import logs
from gateway.config.loader import read_certificate
from gateway.config.settings import Tls


class CertificateWatch:
    """Looks at the files when they have changed. `tls` None: there is nothing to look at."""

    def __init__(self, tls: Tls | None) -> None:
        self._tls = tls
        self._stamps: tuple[object, ...] = ()
        self._problem = ""

    def problem(self) -> str:
        """What is wrong with the files as they are now; empty when they can be used. A new problem is logged once."""
        if self._tls is not None and (stamps := (_stamp(self._tls.cert), _stamp(self._tls.key))) != self._stamps:
            self._stamps = stamps
            self._look(self._tls)
        return self._problem

    def _look(self, tls: Tls) -> None:
        try:
            read_certificate(tls)
            self._problem = ""
        except OSError as error:
            self._problem = f"{error}; the certificate that was read last is served; mend the files, then reload"
            logs.event("certificate_unusable", level=logging.ERROR, error=str(error))


def _stamp(path: str) -> tuple[int, int, int, int] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
