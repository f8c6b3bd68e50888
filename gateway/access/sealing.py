"""Seals bytes that a client or a store keeps for the gateway: nobody else can read, change or move them.

    sealer.seal(b"summary", purpose="compaction", owner="k3x9", expires_in_s=86_400)  ->  "gws1.Wk0c…"
    sealer.open("gws1.Wk0c…", purpose="compaction", owner="k3x9")                     ->  b"summary"

A token is `gws1.` and, in URL-safe base64 without padding:

    4 bytes   which secret sealed it          8 bytes   unix second of its end, 0 for never
    24 bytes  random salt                     the rest  AES-256-GCM of the data, with its tag of 16 bytes

Key and nonce are HMAC-SHA512 of the salt under the secret, so no nonce is used twice however many tokens are made
(NIST SP 800-38D allows 2**32 random nonces under one key). Purpose, owner and end are authenticated with the data.

The secrets are text, one a line, the newest first: it seals, the first two open. To rotate, put a new line before the
old one and restart. They come from the credential in `access.seal`; without one from the file `seal-keys` in the state
directory, which is made at first use. With Redis the first machine's file becomes that of all.
"""

import base64
import binascii
import hmac
import importlib.util
import secrets
import struct
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.access.private_files import locked, make_private_folder, write_private
from gateway.domain import SEALED
from gateway.errors import EngineMissing, InvalidRequest, StateUnavailable
from gateway.shared_state.redis_state import RedisConnection

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SEAL_KEYS = "seal-keys"
"""The file in the state directory."""
MAX_SEALED_BYTES = 8 << 20
"""Bytes of data in one token: `server.max_text_bytes`."""

_HEAD = struct.Struct(">4sQ24s")
_TAG_BYTES = 16
_LONGEST_TOKEN = len(SEALED) + (_HEAD.size + MAX_SEALED_BYTES + _TAG_BYTES) * 4 // 3 + 2
_IN_REDIS = "gateway:seal-keys"
_GENERATIONS = 2
_LEAST_SECRET_CHARS = 32
_EXTRA = "sealed items need the extra 'seal': make install EXTRAS=seal"


class SealRefused(InvalidRequest):
    """A token cannot be opened; the message says what the caller can do."""

    code = "invalid_sealed_item"


class Sealer:
    """`lines`: the secrets, newest first. Raises InvalidRequest where one is too short, and EngineMissing without the
    extra 'seal'. `now` gives unix time."""

    def __init__(self, lines: Iterable[str], now: Callable[[], float] = time.time) -> None:
        if importlib.util.find_spec("cryptography") is None:
            raise EngineMissing(_EXTRA)
        self._now = now
        self._secrets: dict[bytes, bytes] = {}
        self.use(lines)

    def use(self, lines: Iterable[str]) -> None:
        """Seal and open with these secrets from now on. Raises InvalidRequest where one is too short, or none is
        given."""
        texts = [line.strip() for line in lines if line.strip()][:_GENERATIONS]
        if not texts or min(map(len, texts)) < _LEAST_SECRET_CHARS:
            raise InvalidRequest(
                f"a secret that seals needs {_LEAST_SECRET_CHARS} characters; make one with `openssl rand -hex 32`"
            )
        encoded = [text.encode() for text in texts]
        self._secrets = {hmac.digest(secret, b"gateway seal id", "sha512")[:4]: secret for secret in encoded}

    def seal(self, data: bytes, *, purpose: str, owner: str, expires_in_s: float | None = None) -> str:
        """A token that opens for the same purpose and owner until it expires. Raises InvalidRequest above
        MAX_SEALED_BYTES."""
        if len(data) > MAX_SEALED_BYTES:
            raise InvalidRequest(f"{len(data):,} bytes are too many to be sealed; {MAX_SEALED_BYTES:,} are allowed")
        ends_at = 0 if expires_in_s is None else int(self._now() + expires_in_s) + 1
        secret_id, secret = next(iter(self._secrets.items()))
        salt = secrets.token_bytes(24)
        head = _HEAD.pack(secret_id, ends_at, salt)
        cipher, nonce = _cipher(secret, salt)
        sealed: bytes = cipher.encrypt(nonce, data, _context(head, purpose, owner))
        return SEALED + base64.urlsafe_b64encode(head + sealed).rstrip(b"=").decode()

    def open(self, token: str, *, purpose: str, owner: str) -> bytes:
        """The data of a token. Raises SealRefused where it was not sealed here for this purpose and owner, was changed,
        or has expired."""
        raw = _decoded(token)
        head, sealed = raw[: _HEAD.size], raw[_HEAD.size :]
        secret_id, ends_at, salt = _HEAD.unpack(head)
        secret = self._secrets.get(secret_id)
        if secret is None:
            raise SealRefused(
                "the sealed item comes from another gateway or is older than its last two secrets; leave it out"
            )
        cipher, nonce = _cipher(secret, salt)
        try:
            data: bytes = cipher.decrypt(nonce, sealed, _context(head, purpose, owner))
        except Exception as error:  # InvalidTag of the optional extra
            raise SealRefused(
                "the sealed item was changed, or belongs to another key or another use; send it unchanged with the key "
                "that received it, or leave it out"
            ) from error
        if ends_at and self._now() >= ends_at:
            raise SealRefused("the sealed item has expired; leave it out")
        return data


def make_sealer(state_dir: Path, credential: str | None, redis: RedisConnection | None) -> Sealer:
    """The installation's sealer. `credential`: the text behind `access.seal`, None where it is not set; `redis`: shares
    the file's secrets with the other machines as soon as it answers. Raises as `Sealer` does, and StateUnavailable
    where the file cannot be used."""
    if credential is not None:
        return Sealer(credential.splitlines())
    path = state_dir / SEAL_KEYS
    sealer = Sealer([secrets.token_hex(32)])  # fails before a file is made
    try:
        sealer.use(_own_lines(path))
    except (InvalidRequest, UnicodeDecodeError, OSError):
        text = f"{SEAL_KEYS} in the state directory cannot be used; restore it from a backup, or remove it"
        raise StateUnavailable(text) from None

    async def agree(redis: RedisConnection) -> None:
        own = _own_lines(path)
        await redis.ask_patiently(lambda client: client.set(_IN_REDIS, "\n".join(own), nx=True))
        common = (await redis.ask_patiently(lambda client: client.get(_IN_REDIS))).decode().split()
        lines = list(dict.fromkeys([*common, *own]))[:_GENERATIONS]  # what this machine alone has sealed still opens
        if lines != own:
            write_private(path, "\n".join(lines).encode() + b"\n")
        sealer.use(lines)

    if redis is not None:
        redis.on_back.append(agree)
        redis.check()
    return sealer


def _own_lines(path: Path) -> list[str]:
    """The secrets in the file, which the first process makes. Raises OSError."""
    make_private_folder(path.parent)
    with locked(path.parent / f".{path.name}.lock"):
        if not path.exists():
            write_private(path, secrets.token_hex(32).encode() + b"\n")
        return path.read_text().split()


def _decoded(token: str) -> bytes:
    """Head and ciphertext of a token. Raises SealRefused."""
    if len(token) > _LONGEST_TOKEN:
        raise SealRefused(f"the sealed item is longer than {_LONGEST_TOKEN:,} characters; leave it out")
    text = token.removeprefix(SEALED)
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if not token.startswith(SEALED) or len(raw) < _HEAD.size + _TAG_BYTES:
        raise SealRefused("this is not a sealed item of the gateway; send it as it was received, or leave it out")
    return raw


def _cipher(secret: bytes, salt: bytes) -> tuple["AESGCM", bytes]:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - optional extra

    material = hmac.digest(secret, b"gateway seal 1" + salt, "sha512")
    return AESGCM(material[:32]), material[32:44]


def _context(head: bytes, purpose: str, owner: str) -> bytes:
    """What is authenticated beside the data; lengths keep purpose and owner apart."""
    texts = (purpose.encode(), owner.encode())
    return head + b"".join(len(text).to_bytes(4, "big") + text for text in texts)
