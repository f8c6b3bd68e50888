"""API keys: a file of digests, written by the command line and watched by the running server.

A key is `gw_ID_SECRET`: eight characters of public id and 256 random bits, shown once. The file holds the SHA-256 of
the whole key: with so much entropy no slow hash is needed. Form of the file: schemas/keys.json. Knows no HTTP.
"""

import fcntl
import hashlib
import hmac
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson

from gateway import logs, schemas
from gateway.domain import SCOPES, Caller, Json
from gateway.errors import InvalidRequest, NotFound, Unauthenticated

_ID_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_LOOK_AGAIN_S = 1.0
_LOOK_AGAIN_AT_A_MISS_S = 0.02
_LEEWAY_S = 60
_LOCK_S = 10.0
_MAX_KEY_CHARS = 256


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """One key as it stands in the file. Times are unix seconds; None = never, or the default limit."""

    id: str
    name: str
    sha256: str
    scopes: tuple[str, ...]
    created: int
    expires: int | None = None
    per_minute: int | None = None
    concurrent: int | None = None


@dataclass(frozen=True, slots=True)
class KeyWish:
    """What a new key shall be. `expires_s` counts from now."""

    name: str
    scopes: tuple[str, ...]
    expires_s: int | None = None
    per_minute: int | None = None
    concurrent: int | None = None


def digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


class KeyFile:
    """The file, as the command line changes it: under a lock, written whole, renamed into place."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[KeyRecord]:
        """All records. Raises InvalidRequest when the file is not what schemas/keys.json says."""
        if not self.path.exists():
            return []
        try:
            document = orjson.loads(self.path.read_bytes())
        except orjson.JSONDecodeError:
            raise InvalidRequest(
                f"{self.path} is not JSON; restore it, or move it aside and create keys anew"
            ) from None
        for problem in schemas.Checker(schemas.load("keys")).check(document, limit=1):
            raise InvalidRequest(f"{self.path}: {problem}")
        return [KeyRecord(**{**each, "scopes": tuple(each["scopes"])}) for each in document["keys"]]

    def create(self, wish: KeyWish) -> tuple[str, KeyRecord]:
        """Make a key. Returns its text, which is stored nowhere, and its record."""
        unknown = sorted(set(wish.scopes) - set(SCOPES))
        if unknown or not wish.scopes:
            raise InvalidRequest(f"unknown scope {', '.join(unknown) or '(none)'}; allowed: {', '.join(SCOPES)}")
        now = int(time.time())
        with self._changing() as records:
            key, record = self._new(records, now)
            record = replace(
                record,
                name=wish.name,
                scopes=tuple(dict.fromkeys(wish.scopes)),
                expires=None if wish.expires_s is None else now + wish.expires_s,
                per_minute=wish.per_minute,
                concurrent=wish.concurrent,
            )
            records.append(record)
        return key, record

    def revoke(self, key_id: str) -> KeyRecord:
        """Raises NotFound."""
        with self._changing() as records:
            record = self._find(records, key_id)
            records.remove(record)
        return record

    def rotate(self, key_id: str) -> tuple[str, KeyRecord]:
        """A new key with the old one's rights; the old one stays until it is revoked. Raises NotFound."""
        with self._changing() as records:
            old = self._find(records, key_id)
            key, fresh = self._new(records, int(time.time()))
            record = replace(old, id=fresh.id, sha256=fresh.sha256, created=fresh.created)
            records.append(record)
        return key, record

    @staticmethod
    def _new(records: Iterable[KeyRecord], now: int) -> tuple[str, KeyRecord]:
        taken = {record.id for record in records}
        while (key_id := "".join(secrets.choice(_ID_ALPHABET) for _ in range(8))) in taken:
            pass
        key = f"gw_{key_id}_{secrets.token_urlsafe(32)}"
        return key, KeyRecord(id=key_id, name="", sha256=digest(key), scopes=(), created=now)

    @staticmethod
    def _find(records: Iterable[KeyRecord], key_id: str) -> KeyRecord:
        for record in records:
            if record.id == key_id:
                return record
        raise NotFound(f"no key has the id '{key_id}'; see `gateway keys list`")

    @contextmanager
    def _changing(self) -> Iterator[list[KeyRecord]]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(self.path.parent / f".{self.path.name}.lock"):
            records = self.read()
            yield records
            document = {"version": 1, "keys": [_plain(record) for record in records]}
            write_private(self.path, orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")


def _plain(record: KeyRecord) -> Json:
    return {name: value for name, value in asdict(record).items() if value is not None}


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file. Raises InvalidRequest when another command holds it for too long."""
    # The folder may belong to a less trusted user than ours: a link planted there is not followed.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _own_like_folder(descriptor, path)
        end = time.monotonic() + _LOCK_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise InvalidRequest(f"another command has held {path} for {_LOCK_S:g} s") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


def _own_like_folder(descriptor: int, path: Path) -> None:
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def write_private(path: Path, data: bytes) -> None:
    """Replace a file in one step, mode 0600, owned like its folder when root writes it."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            _own_like_folder(file.fileno(), path)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def kept_secret(path: Path) -> bytes:
    """32 random bytes in a private file, made at the first call: processes that start together get the same ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent / f".{path.name}.lock"):
        if not path.exists():
            write_private(path, secrets.token_bytes(32))
        return path.read_bytes()


class KeyStore:
    """The keys as the server sees them: looked up by digest, the file looked at again once a second at most.

    A file that breaks while the server runs is reported once and the last good keys stay: a slip of the operator's
    must neither open nor close the door. `now` is unix time, `clock` monotonic seconds.
    """

    def __init__(
        self, path: Path, now: Callable[[], float] = time.time, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._file = KeyFile(path)
        self._now, self._clock = now, clock
        self._stamp: tuple[int, int, int] | None = None
        self._looked_at = float("-inf")
        self._by_digest: dict[bytes, tuple[bytes, Caller, int | None]] = {}
        self._ids: frozenset[str] = frozenset()
        self._is_broken = False

    def lookup(self, presented: str) -> Caller:
        """The caller behind a key. Raises Unauthenticated, in the same words for every reason."""
        if self._clock() - self._looked_at >= _LOOK_AGAIN_S:
            self._refresh()
        if len(presented) <= _MAX_KEY_CHARS:
            asked = hashlib.sha256(presented.encode("utf-8", "surrogateescape")).digest()
            found = self._by_digest.get(asked)
            if found is None and self._clock() - self._looked_at >= _LOOK_AGAIN_AT_A_MISS_S:
                self._refresh()  # a key that was made a moment ago works at once
                found = self._by_digest.get(asked)
            if found is not None and hmac.compare_digest(asked, found[0]):
                _, caller, expires = found
                if expires is None or self._now() < expires + _LEEWAY_S:
                    return caller
        raise Unauthenticated("this API key is not valid; ask the operator for one")

    def is_live(self, key_id: str) -> bool:
        """Whether a key seen earlier still stands in the file."""
        if self._clock() - self._looked_at >= _LOOK_AGAIN_S:
            self._refresh()
        return key_id in self._ids

    def _refresh(self) -> None:
        self._looked_at = self._clock()
        try:
            status = self._file.path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        except FileNotFoundError:
            stamp = (0, 0, 0)
        except OSError:  # its folder cannot be looked into any more: the last good keys stay, as for a broken file
            stamp = (-1, -1, -1)
        if stamp != self._stamp:
            self._stamp = stamp
            self._load()

    def _load(self) -> None:
        try:
            records = self._file.read()
        except (InvalidRequest, OSError) as error:
            if isinstance(error, OSError):
                self._stamp = None  # it may pass (no descriptors left, say): look again though the file did not change
            if not self._is_broken:
                logs.event("keys_unreadable", error=logs.failure(error), kept=len(self._by_digest))
            self._is_broken = True
            return
        self._is_broken = False
        self._by_digest = {
            bytes.fromhex(record.sha256): (
                bytes.fromhex(record.sha256),
                Caller(record.id, record.name, frozenset(record.scopes), record.per_minute, record.concurrent),
                record.expires,
            )
            for record in records
        }
        self._ids = frozenset(record.id for record in records)


def ensure_dev_key(keys: KeyFile, path: Path) -> bool:
    """A first key with all scopes, written once to `path`. Returns whether it was made now."""
    if path.exists() or keys.read():
        return False
    key, _ = keys.create(KeyWish(name="dev", scopes=SCOPES))
    write_private(path, key.encode() + b"\n")
    return True
