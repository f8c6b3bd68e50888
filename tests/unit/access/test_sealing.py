"""Sealed items open for the key, the purpose and the time they were made for, on every worker and machine."""

import asyncio
import base64
import stat
import threading
from pathlib import Path
from typing import TypedDict

import pytest

from gateway.access.sealing import MAX_SEALED_BYTES, SEAL_KEYS, Sealer, SealRefused, make_sealer
from gateway.errors import EngineMissing, InvalidRequest, StateUnavailable
from gateway.shared_state.redis_state import RedisConnection, RedisTimes
from tests.support.clocks import Clock

FIRST, SECOND, THIRD = "a" * 64, "b" * 64, "c" * 64


class Use(TypedDict):
    purpose: str
    owner: str


USE = Use(purpose="compaction", owner="k3x9")


def test_a_sealed_item_opens_to_its_bytes_is_ascii_for_urls_and_never_the_same_twice() -> None:
    sealer = Sealer([FIRST])
    for data in (b"", b"the state", bytes(range(256)) * 40):
        token, again = sealer.seal(data, **USE), sealer.seal(data, **USE)
        assert token.isascii() and token.startswith("gws1.") and set(token[5:]).isdisjoint("+/=\n")
        assert token != again and sealer.open(token, **USE) == sealer.open(again, **USE) == data


def test_the_text_is_not_readable_in_the_item() -> None:
    token = Sealer([FIRST]).seal(b"secret words of the conversation", **USE)
    assert b"words" not in base64.urlsafe_b64decode(token[5:] + "==")


OTHERS = (("compaction", "other"), ("masking map", "k3x9"), ("compactionk", "3x9"))


@pytest.mark.parametrize(("purpose", "owner"), OTHERS)
def test_an_item_of_another_owner_or_purpose_is_refused_with_what_to_do(purpose: str, owner: str) -> None:
    token = Sealer([FIRST]).seal(b"state", **USE)
    with pytest.raises(SealRefused, match="belongs to another key or another use; send it unchanged") as refused:
        Sealer([FIRST]).open(token, purpose=purpose, owner=owner)
    assert (refused.value.status, refused.value.code) == (400, "invalid_sealed_item")


def test_a_change_of_any_byte_of_the_item_is_refused() -> None:
    sealer = Sealer([FIRST])
    raw = bytearray(base64.urlsafe_b64decode(sealer.seal(b"state", **USE, expires_in_s=60)[5:] + "=="))
    for place in range(len(raw)):
        raw[place] ^= 1
        changed = "gws1." + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
        with pytest.raises(SealRefused, match="leave it out"):
            sealer.open(changed, **USE)
        raw[place] ^= 1


@pytest.mark.parametrize("token", ["", "gws1.", "gws1.AAAA", "gws2.", "gws1.é" * 40, "gws1.!" + "A" * 80, "A" * 90])
def test_what_is_no_sealed_item_is_refused(token: str) -> None:
    with pytest.raises(SealRefused, match="not a sealed item of the gateway"):
        Sealer([FIRST]).open(token, **USE)


def test_an_item_expires_and_one_without_an_end_does_not() -> None:
    clock = Clock()
    sealer = Sealer([FIRST], clock)
    short, endless = sealer.seal(b"a", **USE, expires_in_s=60), sealer.seal(b"b", **USE)
    clock.now_s += 60
    assert sealer.open(short, **USE) == b"a"
    clock.now_s += 2
    with pytest.raises(SealRefused, match="has expired; leave it out"):
        sealer.open(short, **USE)
    assert sealer.open(endless, **USE) == b"b"


def test_two_generations_of_secrets_open_and_the_newest_seals() -> None:
    former = Sealer([FIRST]).seal(b"state", **USE)
    rotated = Sealer([SECOND, FIRST])
    assert rotated.open(former, **USE) == b"state"
    assert Sealer([SECOND]).open(rotated.seal(b"new", **USE), **USE) == b"new"
    with pytest.raises(SealRefused, match="another gateway or is older than its last two secrets"):
        Sealer([THIRD, SECOND, FIRST]).open(former, **USE)


def test_the_size_of_an_item_is_bounded_both_ways() -> None:
    sealer = Sealer([FIRST])
    largest = bytes(MAX_SEALED_BYTES)
    assert sealer.open(sealer.seal(largest, **USE), **USE) == largest
    with pytest.raises(InvalidRequest, match="8,388,609 bytes are too many"):
        sealer.seal(largest + b"x", **USE)
    with pytest.raises(SealRefused, match="is longer than"):
        sealer.open("gws1." + "A" * 12_000_000, **USE)


def test_a_short_secret_is_refused_with_a_command_that_makes_one() -> None:
    with pytest.raises(InvalidRequest, match="openssl rand -hex 32"):
        Sealer(["hunter2"])
    with pytest.raises(InvalidRequest, match="openssl rand -hex 32"):
        make_sealer(Path("unused"), "", None)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"short"], ids=["empty", "noise", "short"])
def test_a_file_that_cannot_be_used_is_told_as_a_fault_of_the_service(tmp_path: Path, content: bytes) -> None:
    (tmp_path / SEAL_KEYS).write_bytes(content)
    with pytest.raises(StateUnavailable, match="restore it from a backup"):
        make_sealer(tmp_path, None, None)
    (tmp_path / SEAL_KEYS).unlink()
    assert make_sealer(tmp_path, None, None).seal(b"x", purpose="p", owner="o")


def test_workers_that_start_together_share_one_private_file(tmp_path: Path) -> None:
    together = threading.Barrier(4)
    sealers: list[Sealer] = []

    def start() -> None:
        together.wait(5)
        sealers.append(make_sealer(tmp_path / "state", None, None))

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    token = sealers[0].seal(b"state", **USE)
    assert [each.open(token, **USE) for each in sealers] == [b"state"] * 4
    assert stat.S_IMODE((tmp_path / "state" / SEAL_KEYS).stat().st_mode) == 0o600


def test_without_the_extra_it_is_named_and_no_file_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(EngineMissing, match="EXTRAS=seal"):
        make_sealer(tmp_path, None, None)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
async def test_machines_agree_on_the_secrets_of_the_first_and_still_open_their_own(tmp_path: Path) -> None:
    async with pytest.importorskip("tests.support.redis_server").running_redis(tmp_path) as server:
        connections = [RedisConnection(server.url, RedisTimes(command_s=5)) for _ in range(2)]
        folders = [tmp_path / "one", tmp_path / "two"]
        before = make_sealer(folders[1], None, None).seal(b"own", **USE)
        sealers = []
        for folder, connection in zip(folders, connections, strict=True):
            sealers.append(make_sealer(folder, None, connection))
            await asyncio.wait_for(connection.check(), 10)
        token = sealers[0].seal(b"state", **USE)
        assert sealers[1].open(token, **USE) == b"state" and sealers[1].open(before, **USE) == b"own"
        assert make_sealer(folders[1], None, None).open(before, **USE) == b"own"  # also after a restart
        for connection in connections:
            await connection.close()
