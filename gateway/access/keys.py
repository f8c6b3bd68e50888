"""API keys: a file of digests, written by the command line and read by the running server when it changes.

A key is `gw_ID_SECRET`: a public id of eight characters and 256 random bits, shown once. The file holds the SHA-256 of
the whole key; with so much entropy no slow hash is needed. Format of the file: schemas/keys.json.

Every key that is made, edited, rotated, revoked or imported has a JSON line in the audit log, written before the
change: `ts` (unix seconds), `action`, the id, name, scopes and limits of the key, `of` (the key it replaces), and the
`uid` and `host` that did it. It is never cut: keys are few. A file beside it keeps the names of
revoked keys for usage and logs, until `keys erase`.
"""

import hashlib
import hmac
import logging
import os
import secrets
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Any

import orjson

from gateway import logs, schemas
from gateway.access.private_files import locked, naming, own_like_folder, write_private
from gateway.domain import KEY_LIMITS, SCOPES, Caller, Json, KeyLimits, is_scope
from gateway.errors import InvalidRequest, NotFound, Unauthenticated

_MAX_KEY_CHARS = 256
"""Longer keys are refused unhashed. Ours have 55 characters; the rest is room for keys of a later format."""

_MAX_LOGGED = 50
"""Ids in one log line; an import may bring thousands."""


class Keys(ABC):
    """The keys of a running server as they were read last: callers and expiry times (unix seconds, None: never) by the
    digest of their key. A subclass reads them: `KeyStore` from a file, `redis_keys.RedisKeyStore` from Redis.

    `now` gives unix time, `clock` monotonic seconds.
    """

    def __init__(self, now: Callable[[], float] = time.time, clock: Callable[[], float] = time.monotonic) -> None:
        self._now, self._clock = now, clock
        self._by_digest: dict[bytes, tuple[bytes, Caller, int | None]] = {}
        self._by_id: dict[str, tuple[bytes, Caller, int | None]] = {}
        self._ended: Mapping[str, str] = {}
        self._problem = ""

    @abstractmethod
    async def refresh(self) -> bool:
        """Look for new keys after a `lookup` that failed. Returns whether there are any."""

    def problem(self) -> str:
        """What is wrong with the keys, for the operator; empty while they are good."""
        return self._problem

    def lookup(self, presented: str) -> Caller:
        """The caller that a key belongs to. Raises Unauthenticated, with the same message for every reason, and
        StateUnavailable while nobody can tell."""
        if len(presented) <= _MAX_KEY_CHARS:
            key_digest = hashlib.sha256(presented.encode("utf-8", "surrogateescape")).digest()
            entry = self._by_digest.get(key_digest)
            if entry is not None and hmac.compare_digest(key_digest, entry[0]):
                _, caller, expires = entry
                if self._is_in_time(expires):
                    return caller
        raise Unauthenticated("this API key is not valid; ask the operator for one")

    def is_live(self, key_id: str) -> bool:
        """Whether a key with this id is valid now: neither revoked nor expired."""
        entry = self._by_id.get(key_id)
        return entry is not None and self._is_in_time(entry[2])

    def caller_of(self, key_id: str) -> Caller | None:
        """The caller of the key with this id, expired or not; None where there is none."""
        entry = self._by_id.get(key_id)
        return entry[1] if entry is not None else None

    def names(self) -> Mapping[str, str]:
        """The name of each key by its id, expired, revoked or not."""
        return {**self._ended, **{caller.key_id: caller.name for _, caller, _ in self._by_digest.values()}}

    def _replace(self, records: "Iterable[KeyRecord]", ended: Mapping[str, str]) -> None:
        """Hold these keys and no others, and the names of those that were revoked. Ids that came and went are logged,
        except when there were none before."""
        before, self._problem, self._ended = self._by_id.keys(), "", ended
        self._by_digest = {entry[0]: entry for entry in map(KeyRecord.entry, records)}
        self._by_id = {entry[1].key_id: entry for entry in self._by_digest.values()}
        if before and before != self._by_id.keys():
            added, removed = sorted(self._by_id.keys() - before), sorted(before - self._by_id.keys())
            logs.event("keys_changed", added=added[:_MAX_LOGGED], removed=removed[:_MAX_LOGGED])

    def _report(self, problem: str, remedy: str, error: str) -> None:
        """Note why the keys cannot be read, with one log line at its beginning. The last good ones stay."""
        if not self._problem:
            logs.event("keys_unreadable", level=logging.ERROR, error=error, kept=len(self._by_digest))
        self._problem = f"{problem}; the last good keys stay valid; {remedy}"

    def _is_in_time(self, expires: int | None) -> bool:
        return expires is None or self._now() < expires


class AuditLog:
    """Lines in a private file. `also` gets every line too: the store that machines share, for example."""

    def __init__(self, path: Path, also: Callable[[bytes], object] | None = None) -> None:
        self._path = path
        self._also = also

    def append(self, fields: Json) -> None:
        """Write one line and wait until it is on the disk. Fields that are None or empty are left out. Raises OSError,
        and what `also` raises."""
        told = {name: value for name, value in fields.items() if value not in (None, "")}
        line = orjson.dumps({"ts": int(time.time()), **told, "uid": os.getuid(), "host": socket.gethostname()})
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        with naming(self._path), os.fdopen(descriptor, "ab", buffering=0) as file:
            own_like_folder(descriptor, self._path)
            _append_whole(file, line + b"\n")
            os.fsync(descriptor)
        if self._also is not None:
            self._also(line)


def _append_whole(file: FileIO, line: bytes) -> None:
    """Write all of a line or nothing: a disk that becomes full takes a part, behind which the next would stand."""
    size, rest = os.fstat(file.fileno()).st_size, memoryview(line)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError:
        file.truncate(size)
        raise


_ID_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
"""Without l, o, 0 and 1, which are mistaken for each other when an id is typed."""

_CHECK_INTERVAL_S = 1.0
"""Least time between two checks whether the file changed, which is how long a revoked key may still be accepted; the
documentation promises five seconds."""


@dataclass(frozen=True, slots=True)
class KeyRecord(KeyLimits):
    """One key, as in the file. `created` and `expires` are unix seconds, `expires` None means never. `identity`: the id
    of the first key of those that were rotated to this one; None for its own."""

    id: str
    name: str
    sha256: str
    scopes: tuple[str, ...]
    created: int
    expires: int | None = None
    identity: str | None = None

    def entry(self) -> tuple[bytes, Caller, int | None]:
        """What `Keys` holds of it."""
        limits = {name: getattr(self, name) for name in KEY_LIMITS}
        caller = Caller(self.id, self.name, frozenset(self.scopes), **limits, identity=self.identity or "")
        return bytes.fromhex(self.sha256), caller, self.expires


@dataclass(frozen=True, slots=True)
class KeyRequest(KeyLimits):
    """Properties of a key to be made. `expires_s` is its lifetime in seconds; None means without end."""

    name: str
    scopes: tuple[str, ...]
    expires_s: int | None = None


def records_in(document: Any, source: object) -> "list[KeyRecord]":
    """The records of a document as schemas/keys.json says. Raises InvalidRequest that names the `source` of another."""
    for problem in schemas.Checker(schemas.load("keys")).check(document, limit=1):
        raise InvalidRequest(f"{source}: {problem}")
    return [KeyRecord(**{**each, "scopes": tuple(each["scopes"])}) for each in document["keys"]]


def checked(record: "KeyRecord") -> "KeyRecord":
    """A record that can be read again once it is written. Raises InvalidRequest."""
    try:
        record.name.encode()
    except UnicodeEncodeError:
        raise InvalidRequest("name: must be text in UTF-8", param="name") from None
    document = {"version": 1, "keys": [record_to_json(record)]}
    for problem in schemas.Checker(schemas.load("keys")).check(document, limit=1):
        param = problem.path.removeprefix("keys[0].")
        raise InvalidRequest(f"{param}: {problem.message}", param=param)
    return record


def _fields(properties: Mapping[str, Any]) -> Json:
    """The fields of a record that properties of a `KeyRequest` give it. Raises InvalidRequest for an unknown scope, and
    for none."""
    fields = dict(properties)
    if "scopes" in fields:
        scopes = fields["scopes"] = tuple(dict.fromkeys(fields["scopes"]))
        unknown = ", ".join(sorted(scope for scope in scopes if not is_scope(scope)))
        if unknown or not scopes:
            allowed = f"allowed: {', '.join(SCOPES)}, mcp:LABEL"
            raise InvalidRequest(f"unknown scope {unknown or '(none)'}; {allowed}", param="scopes")
    if "expires_s" in fields:
        seconds = fields.pop("expires_s")
        fields["expires"] = None if seconds is None else int(time.time()) + seconds
    return fields


def digest(key: str) -> str:
    """The SHA-256 of a key in hexadecimal, as in the file."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


class KeyRegistry(ABC):
    """Keys as the command line sees them. A subclass says where they are kept; each change is one step there.

    Every change is in the audit log before it is made: a log that cannot be written lets nothing be changed.
    """

    audit: AuditLog

    @abstractmethod
    def read(self) -> list[KeyRecord]:
        """All records. Raises InvalidRequest when they are not as schemas/keys.json says."""

    @abstractmethod
    def ended(self) -> dict[str, str]:
        """The names of revoked keys by their ids, as far as they can be read."""

    @abstractmethod
    def _keep_name(self, key_id: str, name: str | None) -> None:
        """Make it one of `ended`, with None no longer. Called while the records may be changed."""

    @abstractmethod
    def _changing(self) -> AbstractContextManager[list[KeyRecord]]:
        """The records, to be changed in place; written when the block ends, and by nobody else meanwhile."""

    def create(self, request: KeyRequest) -> tuple[str, KeyRecord]:
        """Make a key. Returns its text, which is stored nowhere, and its record. Raises InvalidRequest for unknown
        scopes, what schemas/keys.json refuses, an unreadable file, or a lock that another command holds."""
        fields = _fields(asdict(request))
        with self._changing() as records:
            key, record = self._new(records, int(time.time()))
            records.append(record := checked(replace(record, **fields)))
            self._log("created", record)
        return key, record

    def edit(self, key_id: str, changes: Mapping[str, Any]) -> KeyRecord:
        """Change properties of a key, named as in `KeyRequest`; the others stay. Returns its record. Raises NotFound,
        and as `create` does."""
        fields = _fields(changes)
        with self._changing() as records:
            old = self.find(key_id, records)
            records[records.index(old)] = record = checked(replace(old, **fields))
            self._log("edited", record)
        return record

    def revoke(self, key_id: str) -> KeyRecord:
        """Delete a key, but for its name, and return its record. Raises NotFound."""
        with self._changing() as records:
            record = self.find(key_id, records)
            records.remove(record)
            self._log("revoked", record)
            self._keep_name(record.id, record.name)
        return record

    def forget(self, key_id: str) -> None:
        """Remove the name of a revoked key."""
        with self._changing():
            self.audit.append({"action": "erased", "id": key_id})
            self._keep_name(key_id, None)

    def rotate(self, key_id: str) -> tuple[str, KeyRecord]:
        """Make a key with the rights of an old one, which stays valid until it is revoked. Returns as `create` does.
        Raises NotFound."""
        with self._changing() as records:
            old = self.find(key_id, records)
            key, fresh = self._new(records, int(time.time()))
            identity = old.identity or old.id
            record = replace(old, id=fresh.id, sha256=fresh.sha256, created=fresh.created, identity=identity)
            records.append(record)
            self._log("rotated", record, of=old.id)
        return key, record

    def _log(self, action: str, record: KeyRecord, of: str | None = None) -> None:
        self.audit.append({"action": action, "of": of, **record_to_json(replace(record, sha256=""))})

    @staticmethod
    def _new(records: Iterable[KeyRecord], now: int) -> tuple[str, KeyRecord]:
        used_ids = {record.id for record in records}
        while (key_id := "".join(secrets.choice(_ID_ALPHABET) for _ in range(8))) in used_ids:
            pass
        key = f"gw_{key_id}_{secrets.token_urlsafe(32)}"
        return key, KeyRecord(id=key_id, name="", sha256=digest(key), scopes=(), created=now)

    def find(self, key_id: str, records: Iterable[KeyRecord] | None = None) -> KeyRecord:
        """The record of a key, of those there are or of `records`, by its id, or by its name where no other key has it.
        Raises NotFound, and as `read` does."""
        known = self.read() if records is None else list(records)
        found = [each for each in known if each.id == key_id] or [each for each in known if each.name == key_id]
        if len(found) != 1:
            ids = f"the keys {', '.join(each.id for each in found)} have the name '{key_id}': give an id"
            raise NotFound(ids if found else f"no key has the id or name '{key_id}'; see `gateway keys list`")
        return found[0]

    def add(self, records: Iterable[KeyRecord]) -> list[KeyRecord]:
        """Add records as they are. Returns those that were added; ids that exist already are left as they are."""
        with self._changing() as present:
            used_ids = {record.id for record in present}
            added = [record for record in records if record.id not in used_ids]
            present += added
            for record in added:
                self._log("imported", record)
        return added


class KeyFile(KeyRegistry):
    """The file of keys, for the command line. Changes happen under a lock; the file is replaced in one step."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.audit = AuditLog(path.parent / "audit.jsonl")
        self._ended = path.with_name(f"{path.stem}-ended.json")

    def read(self) -> list[KeyRecord]:
        """All records; none when there is no file. Raises InvalidRequest when it does not match schemas/keys.json, and
        OSError."""
        try:
            return self.read_existing()
        except NotFound:
            return []

    def read_existing(self) -> list[KeyRecord]:
        """As `read`, but raises NotFound when there is no file."""
        try:
            document = orjson.loads(self.path.read_bytes())
        except FileNotFoundError:
            raise NotFound(f"{self.path} does not exist; restore it, or make keys with `gateway keys create`") from None
        except orjson.JSONDecodeError:
            raise InvalidRequest(
                f"{self.path} is not JSON; restore it, or move it aside and create keys anew"
            ) from None
        return records_in(document, self.path)

    def ended(self) -> dict[str, str]:
        """As in `KeyRegistry`."""
        try:
            return dict(orjson.loads(self._ended.read_bytes()))
        except (OSError, ValueError, TypeError):
            return {}

    def _keep_name(self, key_id: str, name: str | None) -> None:
        names = {**self.ended(), key_id: name}
        write_private(self._ended, orjson.dumps({key: each for key, each in names.items() if each is not None}))

    @contextmanager
    def _changing(self) -> Iterator[list[KeyRecord]]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self.path.parent / f".{self.path.name}.lock"):
            records = self.read()
            before = records.copy()
            yield records
            if records != before or self.path.exists():  # servers read the names of revoked keys with it
                document = {"version": 1, "keys": [record_to_json(record) for record in records]}
                write_private(self.path, orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")


def record_to_json(record: KeyRecord) -> Json:
    """A record as in schemas/keys.json."""
    fields = asdict(record)
    limits = {name: fields.pop(name) for name in KEY_LIMITS}  # they stand last
    return {name: value for name, value in (fields | limits).items() if value is not None}


def shown(record: KeyRecord) -> Json:
    """What may be shown of a record: all but its digest."""
    return {name: value for name, value in record_to_json(record).items() if name != "sha256"}


class KeyStore(Keys):
    """The keys in a file, which is checked for changes once a second at most.

    When the file becomes unreadable or is removed, this is logged once and the last good keys stay valid: an operator's
    typing error must neither admit nor refuse everybody.
    """

    def __init__(
        self, path: Path, now: Callable[[], float] = time.time, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(now, clock)
        self._file = KeyFile(path)
        self._stamp: tuple[int, int, int] | None = None
        self._checked_at = float("-inf")

    def lookup(self, presented: str) -> Caller:
        """As in `Keys`."""
        self._look_if_due()
        try:
            return super().lookup(presented)
        except Unauthenticated:
            self._look()  # the key may have been made a moment ago; a stat(2) is a hundredth of any request
        return super().lookup(presented)

    async def refresh(self) -> bool:
        """No: each `lookup` that fails looks at the file itself."""
        return False

    def is_live(self, key_id: str) -> bool:
        """As in `Keys`."""
        self._look_if_due()
        return super().is_live(key_id)

    def problem(self) -> str:
        """As in `Keys`."""
        self._look_if_due()
        return super().problem()

    def _look_if_due(self) -> None:
        if self._clock() - self._checked_at >= _CHECK_INTERVAL_S:
            self._look()

    def _look(self) -> None:
        self._checked_at = self._clock()
        try:
            status = self._file.path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        except FileNotFoundError:
            stamp = (0, 0, 0)
        except OSError:  # its folder has become unreadable: the last good keys stay, as for a broken file
            stamp = (-1, -1, -1)
        if stamp != self._stamp:
            self._stamp = stamp
            self._load()

    def _load(self) -> None:
        remedy = "restore it, or make keys with `gateway keys create`"
        try:
            self._replace(self._file.read_existing(), self._file.ended())
        except NotFound:
            self._report("the key file is missing", remedy, "missing")
        except (InvalidRequest, OSError) as error:
            if isinstance(error, OSError):
                self._stamp = None  # it may pass (no file descriptors left): read again though the file has not changed
            self._report("the key file cannot be read", remedy, logs.failure(error))
