"""API keys: what the file keeps, what the server accepts, and when it sees a change."""

import multiprocessing
import os
import resource
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.access.keys import KeyFile, KeyRequest, KeyStore
from gateway.access.private_files import load_or_create_secret
from gateway.domain import SCOPES
from gateway.errors import InvalidRequest, NotFound, Unauthenticated
from gateway.runtime.prepare import ensure_dev_key
from tests.support.clocks import Clock

REQUEST = KeyRequest(name="reader", scopes=("chat",), per_minute=5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def test_a_key_is_accepted_and_its_text_stands_nowhere(path: Path) -> None:
    key, record = KeyFile(path).create(REQUEST)
    caller = KeyStore(path).lookup(key)
    expected = (record.id, "reader", frozenset({"chat"}), 5)
    assert (caller.key_id, caller.name, caller.scopes, caller.per_minute) == expected
    assert key not in path.read_text() and len(key.split("_", 2)[2]) >= 43
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("wrong", ["", "x", "gw_aaaaaaaa_" + "b" * 43, "\udcff\udcfe", "k" * 100_000, "ключ"])
def test_a_wrong_key_is_refused_in_the_same_words(path: Path, wrong: str) -> None:
    KeyFile(path).create(REQUEST)
    with pytest.raises(Unauthenticated) as refusal:
        KeyStore(path).lookup(wrong)
    assert refusal.value.message == "this API key is not valid; ask the operator for one"


def test_a_running_server_sees_new_keys_at_once_and_revoked_ones_at_its_next_look(path: Path) -> None:
    clock = Clock()
    store = KeyStore(path, clock=clock)
    for _ in range(2):  # whatever was presented a moment ago
        with pytest.raises(Unauthenticated):
            store.lookup("gw_x_y")
        key, record = KeyFile(path).create(REQUEST)
        assert store.lookup(key)
    assert store.lookup(key).key_id == record.id and store.is_live(record.id)
    assert store.caller_of(record.id) == store.lookup(key)
    KeyFile(path).revoke(record.id)
    clock.now_s += 1.1
    with pytest.raises(Unauthenticated):
        store.lookup(key)
    assert not store.is_live(record.id) and store.caller_of(record.id) is None


def test_rotation_gives_a_second_key_with_the_same_rights(path: Path) -> None:
    first, record = KeyFile(path).create(REQUEST)
    second, rotated = KeyFile(path).rotate(record.id)
    store = KeyStore(path)
    assert store.lookup(first).scopes == store.lookup(second).scopes
    assert rotated.id != record.id and rotated.per_minute == 5
    third = KeyFile(path).rotate(rotated.id)[1]
    assert [each.entry()[1].identity for each in (record, rotated, third)] == [record.id] * 3


def test_a_key_is_found_by_its_name_where_no_other_key_has_it(path: Path) -> None:
    keys = KeyFile(path)
    record = keys.create(REQUEST)[1]
    assert keys.find(REQUEST.name) == record
    keys.create(replace(REQUEST, name=record.id))
    assert keys.find(record.id) == record, "an id comes before a name"
    rotated = keys.rotate(REQUEST.name)[1]
    with pytest.raises(NotFound, match=f"{record.id}, {rotated.id} have the name"):
        keys.revoke(REQUEST.name)


def test_the_name_of_a_revoked_key_is_kept_until_it_is_forgotten(path: Path) -> None:
    keys = KeyFile(path)
    ended, stays = (keys.create(replace(REQUEST, name=name))[1].id for name in ("gone", "here"))
    keys.revoke(ended)
    store = KeyStore(path, clock=(clock := Clock()))
    assert not store.is_live(ended) and store.names() == {ended: "gone", stays: "here"}
    assert stat.S_IMODE(path.with_name("keys-ended.json").stat().st_mode) == 0o600
    keys.forget(ended)
    clock.now_s += 1.1
    assert store.is_live(stays) and store.names() == {stays: "here"} and keys.ended() == {}
    assert b"gone" not in path.with_name("keys-ended.json").read_bytes()


def test_wrong_scopes_and_unknown_ids_are_told(path: Path) -> None:
    keys = KeyFile(path)
    for scopes in (("everything",), ()):
        with pytest.raises(InvalidRequest, match="web-search, chat, responses, ocr"):
            keys.create(KeyRequest(name="x", scopes=scopes))
        with pytest.raises(InvalidRequest, match="web-search, chat, responses, ocr"):
            keys.edit("none", {"scopes": scopes})
    for change in (keys.revoke, keys.rotate, keys.find, partial(keys.edit, changes={"name": "x"})):
        with pytest.raises(NotFound):
            change("none")


def _create(path: Path) -> None:
    KeyFile(path).create(REQUEST)


NOT_HELD = [
    ({"name": ""}, "name"), ({"name": "x" * 101}, "name"), ({"name": "\udcff"}, "name"),
    ({"tokens_per_day": 10**20}, "tokens_per_day"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "field"), NOT_HELD)
def test_a_key_that_the_file_could_not_hold_is_refused_and_leaves_it_as_it_was(
    path: Path, wrong: dict[str, Any], field: str
) -> None:
    file = KeyFile(path)
    file.create(KeyRequest(name="first", scopes=("chat",)))
    before = path.read_bytes()
    with pytest.raises(InvalidRequest, match=f"^{field}: ") as refused:
        file.create(KeyRequest(**{"name": "second", "scopes": ("chat",), **wrong}))
    assert refused.value.param == field and path.read_bytes() == before


def test_keys_made_at_the_same_time_are_all_kept(path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        pool.map(_create, [path] * 12)
    assert len(orjson.loads(path.read_bytes())["keys"]) == 12


def test_the_first_key_is_written_once(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "dev-key"
    assert ensure_dev_key(KeyFile(path), file) and not ensure_dev_key(KeyFile(path), file)
    assert KeyStore(path).lookup(file.read_text().strip()).scopes == set(SCOPES)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


SPOILT = [(lambda path: path.write_bytes(b"{"), "cannot be read"), (lambda path: path.unlink(), "missing")]


@pytest.mark.parametrize(("spoil", "said"), SPOILT, ids=["broken", "gone"])
def test_a_file_that_is_broken_or_gone_keeps_the_last_good_keys_and_says_so_until_it_is_mended(
    path: Path, caplog: pytest.LogCaptureFixture, spoil: Callable[[Path], object], said: str
) -> None:
    clock = Clock()
    key, record = KeyFile(path).create(REQUEST)
    store = KeyStore(path, clock=clock)
    assert store.lookup(key).key_id == record.id and store.problem() == ""
    good = path.read_bytes()
    spoil(path)
    for _ in range(3):
        clock.now_s += 2
        assert store.lookup(key).key_id == record.id
    with pytest.raises(Unauthenticated):
        store.lookup("gw_other")
    assert said in store.problem() and "gateway keys create" in store.problem()
    assert [line.levelname for line in caplog.records if line.message == "keys_unreadable"] == ["ERROR"]
    if path.exists():
        with pytest.raises(InvalidRequest, match="not JSON"):
            KeyFile(path).create(REQUEST)
    path.write_bytes(good)
    other, _ = KeyFile(path).create(REQUEST)
    clock.now_s += 2
    assert store.problem() == "" and store.lookup(key) and store.lookup(other)


def test_a_file_that_could_not_be_read_is_read_again_though_it_did_not_change(path: Path) -> None:
    clock = Clock()
    key, _ = KeyFile(path).create(REQUEST)
    store = KeyStore(path, clock=clock)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))  # no descriptors left
    try:
        with pytest.raises(Unauthenticated):
            store.lookup(key)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    clock.now_s += 2
    store.lookup(key)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_files_that_root_writes_belong_to_the_folders_owner(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    os.chown(folder, 12345, 12346)
    KeyFile(folder / "keys.json").create(REQUEST)
    for file in folder.iterdir():
        assert (file.stat().st_uid, file.stat().st_gid) == (12345, 12346), file
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_a_link_planted_for_the_lock_is_not_followed(path: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("untouched")
    (path.parent / f".{path.name}.lock").symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"):
        KeyFile(path).create(REQUEST)
    assert precious.read_text() == "untouched"


def test_processes_that_start_together_get_one_secret_and_keep_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "user-hash-key"
    together = threading.Barrier(8)
    got: list[bytes] = []

    def start() -> None:
        together.wait(5)
        got.append(load_or_create_secret(path))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(got) == 8 and len(set(got)) == 1 and len(got[0]) == 32
    assert load_or_create_secret(path) == got[0] and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_change_that_cannot_be_written_into_the_audit_log_is_not_made(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    keys.create(KeyRequest("first", ("chat",)))
    (tmp_path / "audit.jsonl").unlink()
    (tmp_path / "audit.jsonl").mkdir()
    with pytest.raises(OSError):
        keys.create(KeyRequest("second", ("chat",)))
    assert [record.name for record in keys.read()] == ["first"]
