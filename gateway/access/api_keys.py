"""API keys: a file of digests, written by the command line and read by the running server when it changes.

A key is `gw_ID_SECRET`: a public id of eight characters and 256 random bits, shown once. The file holds the SHA-256 of
the whole key; with so much entropy no slow hash is needed. Format of the file: schemas/keys.json. Knows no HTTP and no
limits.
"""

import hashlib
import logging
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson

from gateway import logs
from gateway.access.audit import AuditLog
from gateway.access.key_document import first_problem
from gateway.access.key_table import KeyTable
from gateway.access.private_files import locked, write_private
from gateway.domain import KEY_LIMITS, SCOPES, Caller, Json, is_scope
from gateway.errors import InvalidRequest, NotFound, Unauthenticated

_ID_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
"""Without l, o, 0 and 1, which are mistaken for each other when an id is typed."""

_CHECK_INTERVAL_S = 1.0
"""Least time between two checks whether the file changed, which is how long a revoked key may still be accepted; the
documentation promises five seconds. Chosen: at half, twice the calls of stat(2); at double, revoking takes 2 s."""


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """One key, as in the file. `created` and `expires` are unix seconds, `expires` None means never; limits that are
    None mean the configured ones."""

    id: str
    name: str
    sha256: str
    scopes: tuple[str, ...]
    created: int
    expires: int | None = None
    per_minute: int | None = None
    concurrent: int | None = None
    tokens_per_minute: int | None = None
    tokens_per_day: int | None = None
    tool_calls_per_day: int | None = None
    spend_per_month: float | None = None

    def entry(self) -> tuple[bytes, Caller, int | None]:
        """Its row of a `KeyTable`."""
        limits = {name: getattr(self, name) for name in KEY_LIMITS}
        return bytes.fromhex(self.sha256), Caller(self.id, self.name, frozenset(self.scopes), **limits), self.expires


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """Properties of a key to be made. `expires_s` is its lifetime in seconds; None means without end. Limits as in
    `KeyRecord`."""

    name: str
    scopes: tuple[str, ...]
    expires_s: int | None = None
    per_minute: int | None = None
    concurrent: int | None = None
    tokens_per_minute: int | None = None
    tokens_per_day: int | None = None
    tool_calls_per_day: int | None = None
    spend_per_month: float | None = None


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
    def _changing(self) -> AbstractContextManager[list[KeyRecord]]:
        """The records, to be changed in place; written when the block ends, and by nobody else meanwhile."""

    def create(self, request: KeyRequest) -> tuple[str, KeyRecord]:
        """Make a key. Returns its text, which is stored nowhere, and its record. Raises InvalidRequest for unknown
        scopes, an unreadable file, or a lock that another command holds."""
        unknown = ", ".join(sorted({scope for scope in request.scopes if not is_scope(scope)}))
        if unknown or not request.scopes:
            raise InvalidRequest(f"unknown scope {unknown or '(none)'}; allowed: {', '.join(SCOPES)}, mcp:LABEL")
        now = int(time.time())
        with self._changing() as records:
            key, record = self._new(records, now)
            record = replace(
                record,
                name=request.name,
                scopes=tuple(dict.fromkeys(request.scopes)),
                expires=None if request.expires_s is None else now + request.expires_s,
                **{name: getattr(request, name) for name in KEY_LIMITS},
            )
            records.append(record)
            self._log("created", record)
        return key, record

    def revoke(self, key_id: str) -> KeyRecord:
        """Delete a key and return its record. Raises NotFound."""
        with self._changing() as records:
            record = self._find(records, key_id)
            records.remove(record)
            self._log("revoked", record)
        return record

    def rotate(self, key_id: str) -> tuple[str, KeyRecord]:
        """Make a key with the rights of an old one, which stays valid until it is revoked. Returns as `create` does.
        Raises NotFound."""
        with self._changing() as records:
            old = self._find(records, key_id)
            key, fresh = self._new(records, int(time.time()))
            record = replace(old, id=fresh.id, sha256=fresh.sha256, created=fresh.created)
            records.append(record)
            self._log("rotated", record, of=key_id)
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

    @staticmethod
    def _find(records: Iterable[KeyRecord], key_id: str) -> KeyRecord:
        for record in records:
            if record.id == key_id:
                return record
        raise NotFound(f"no key has the id '{key_id}'; see `gateway keys list`")

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
        if problem := first_problem(document):
            raise InvalidRequest(f"{self.path}: {problem}")
        return [KeyRecord(**{**each, "scopes": tuple(each["scopes"])}) for each in document["keys"]]

    @contextmanager
    def _changing(self) -> Iterator[list[KeyRecord]]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.path.parent / f".{self.path.name}.lock"):
            records = self.read()
            yield records
            document = {"version": 1, "keys": [record_to_json(record) for record in records]}
            write_private(self.path, orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")


def record_to_json(record: KeyRecord) -> Json:
    """A record as in schemas/keys.json."""
    return {name: value for name, value in asdict(record).items() if value is not None}


class KeyStore:
    """The keys for the running server, by digest. The file is checked for changes once a second at most.

    When the file becomes unreadable or is removed, this is logged once and the last good keys stay valid: an operator's
    typing error must neither admit nor refuse everybody. `now` gives unix time, `clock` monotonic seconds.
    """

    def __init__(
        self, path: Path, now: Callable[[], float] = time.time, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._file = KeyFile(path)
        self._clock = clock
        self._stamp: tuple[int, int, int] | None = None
        self._checked_at = float("-inf")
        self._table = KeyTable(now)
        self._problem = ""

    def lookup(self, presented: str) -> Caller:
        """The caller that a key belongs to. Raises Unauthenticated, with the same message for every reason."""
        if self._clock() - self._checked_at >= _CHECK_INTERVAL_S:
            self._refresh()
        try:
            return self._table.lookup(presented)
        except Unauthenticated:
            self._refresh()  # the key may have been made a moment ago; a stat(2) is a hundredth of any request
        return self._table.lookup(presented)

    async def refresh(self) -> bool:
        """Whether more keys are known than at the last `lookup`, which looks at the file itself."""
        return False

    def is_live(self, key_id: str) -> bool:
        """Whether the file still has the key with this id, expired or not."""
        if self._clock() - self._checked_at >= _CHECK_INTERVAL_S:
            self._refresh()
        return key_id in self._table.ids

    def caller_of(self, key_id: str) -> Caller | None:
        """The caller of a known key, by its id; None where there is none."""
        return self._table.caller_of(key_id)

    def names(self) -> Mapping[str, str]:
        """The name of each key by its id, as of the last look at the file."""
        return self._table.names()

    def problem(self) -> str:
        """What is wrong with the file, for the operator; empty while it is good."""
        if self._clock() - self._checked_at >= _CHECK_INTERVAL_S:
            self._refresh()
        return self._problem

    def _refresh(self) -> None:
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
        try:
            records = self._file.read_existing()
        except NotFound:
            self._report("the key file is missing", "missing")
            return
        except (InvalidRequest, OSError) as error:
            if isinstance(error, OSError):
                self._stamp = None  # it may pass (no file descriptors left): read again though the file has not changed
            self._report("the key file cannot be read", logs.failure(error))
            return
        self._problem = ""
        self._table.replace(map(KeyRecord.entry, records))

    def _report(self, problem: str, error: str) -> None:
        """Note a problem, with one log line at its beginning."""
        if not self._problem:
            logs.event("keys_unreadable", level=logging.ERROR, error=error, kept=len(self._table))
        self._problem = f"{problem}; the last good keys stay valid; restore it, or make keys with `gateway keys create`"
