"""Files of the server's certificate that break while it is served."""

import shutil
import ssl
from pathlib import Path

import pytest

from gateway.config.loader import LoadedTls, loaded, read_certificate
from gateway.config.settings import Tls
from gateway.web.server.runner import CertificateWatch
from tests.support.connect_proxy import PrivateAuthority
from tests.support.logged import collect_events

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make certificates")


@pytest.fixture
def tls(tmp_path: Path) -> Tls:
    PrivateAuthority(tmp_path).server_context("localhost")
    return Tls(str(tmp_path / "server.pem"), str(tmp_path / "server.key"))


@pytest.mark.slow
def test_a_certificate_is_as_it_was_read_whatever_becomes_of_the_files(tls: Tls) -> None:
    read = read_certificate(tls)
    Path(tls.cert).write_text("broken")
    Path(tls.key).unlink()
    assert loaded(read) is read and isinstance(read.context(), ssl.SSLContext) and "PRIVATE" not in repr(read)
    with pytest.raises(ssl.SSLError):
        LoadedTls(tls.cert, tls.key, b"broken", read.key_pem).context()
    with pytest.raises(OSError, match=r"server\.key cannot be used: No such file"):
        loaded(tls)
    assert loaded(None) is None


@pytest.mark.slow
def test_files_that_break_are_noted_and_logged_once_and_mended_ones_no_more(tls: Tls) -> None:
    logged, watch = collect_events(), CertificateWatch(tls)
    assert watch.problem() == "" and CertificateWatch(None).problem() == ""
    good = Path(tls.cert).read_bytes()
    Path(tls.cert).write_text("broken")
    assert [watch.problem() for _ in range(3)] == [watch.problem()] * 3
    assert "server.pem" in watch.problem() and "read last is served" in watch.problem()
    assert len(logged("certificate_unusable")) == 1
    Path(tls.key).rename(f"{tls.key}.away")
    assert "server.key cannot be used: No such file" in watch.problem()
    Path(tls.cert).write_bytes(good)
    Path(f"{tls.key}.away").rename(tls.key)
    assert watch.problem() == ""
