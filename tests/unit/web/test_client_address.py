"""Whose address counts: the connection's, unless a trusted proxy says whose request it brings."""

import pytest
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict

from gateway.web.client_address import client_address


class Transport:
    """A connection from one address."""

    def __init__(self, address: str) -> None:
        self._address = address

    def get_extra_info(self, name: str, default: object = None) -> object:
        return (self._address, 40_000) if name == "peername" else default


def address(trusted: list[str], peer: str, *forwarded: str) -> str:
    headers = CIMultiDict([("X-Forwarded-For", each) for each in forwarded])
    return client_address(trusted)(make_mocked_request("GET", "/", headers=headers, transport=Transport(peer)))


FORWARDED = [
    ([], "203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
    (["10.0.0.0/8"], "203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
    (["10.0.0.0/8"], "10.0.0.1", [], "10.0.0.1"),
    (["10.0.0.0/8"], "10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
    (["10.0.0.0/8"], "::ffff:10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
    (["10.0.0.0/8"], "::ffff:203.0.113.9", ["198.51.100.1"], "::ffff:203.0.113.9"),
    (["10.0.0.0/8"], "10.0.0.1", ["1.2.3.4, 198.51.100.1"], "198.51.100.1"),
    (["10.0.0.0/8"], "10.0.0.1", ["198.51.100.1, 10.0.0.2"], "198.51.100.1"),
    (["10.0.0.0/8"], "10.0.0.1", ["198.51.100.1", "10.0.0.2"], "198.51.100.1"),
    (["10.0.0.0/8"], "10.0.0.1", ['evil"text, 10.0.0.2'], "10.0.0.2"),
    (["10.0.0.0/8"], "10.0.0.1", ["evil text"], "10.0.0.1"),
    (["::1", "fd00::/8"], "::1", ["2001:db8::7"], "2001:db8::7"),
    (["10.0.0.1"], "10.0.0.1", [", ".join(["1.1.1.1"] * 100_000)], "1.1.1.1"),
]


@pytest.mark.parametrize(("trusted", "peer", "forwarded", "expected"), FORWARDED)
def test_only_a_trusted_proxy_is_believed(trusted: list[str], peer: str, forwarded: list[str], expected: str) -> None:
    assert address(trusted, peer, *forwarded) == expected
