"""Finds cryptocurrency addresses with a valid checksum, and private keys in wallet import format (entity SECRET).

Sources: Bitcoin's Base58Check and BIP 173/350 (bech32), read 2026-11-21. Ethereum addresses are recognised
by their form alone.
"""

import hashlib
from collections.abc import Iterator

import re2

from gateway.sanitize.detectors.re2_search import searcher
from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.folding import View
from gateway.sanitize.text.work_budget import WorkBudget

_CANDIDATE = re2.compile(
    rb"(?:^|[^A-Za-z0-9])(?:0x[0-9a-fA-F]{40}|(?:bc1|tb1|ltc1|addr1|cosmos1)[ac-hj-np-z02-9]{38,103}"
    rb"|[13LMDTAXr5KQ9c][1-9A-HJ-NP-Za-km-z]{24,51})(?:[^A-Za-z0-9]|$)"
)
_FIND = searcher(_CANDIDATE)
_MAX_CHECKED = 100
"""Chosen: checksums calculated for one text; later candidates count as addresses. At half lists of hashes in the same
form are masked sooner; at double a text full of candidates costs twice as much."""
_BITCOIN, _RIPPLE = (
    (alphabet[:1], bytes.maketrans(alphabet, bytes(range(58))))
    for alphabet in (
        b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
        b"rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz",
    )
)
"""(the character for 0, the translation of characters to values) of both Base58 alphabets."""
_BECH32_ALPHABET = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BECH32_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def find_wallets(view: View, budget: WorkBudget) -> Iterator[Finding]:
    """Findings of the entities CRYPTO_WALLET and SECRET, in order, in folded offsets. Raises BudgetExceeded."""
    text, at, checked = view.folded, 0, 0
    while True:
        start, end = _FIND(text, at)
        if start < 0:
            return
        start += not text[start : start + 1].isalnum()
        end -= not text[end - 1 : end].isalnum()
        budget.spend(16)
        checked += 1
        entity = _entity_of(text[start:end], budget) if checked < _MAX_CHECKED else "CRYPTO_WALLET"
        if entity:
            yield Finding(start, end, entity)
        at = end


def _entity_of(value: bytes, budget: WorkBudget) -> str:
    if value.startswith(b"0x"):
        return "CRYPTO_WALLET" if len(set(value[2:])) > 4 else ""  # not the null address or similar fillers
    if value.startswith((b"bc1", b"tb1", b"ltc1", b"addr1", b"cosmos1")):
        budget.spend(8 + 5 * len(value) // 4)
        return "CRYPTO_WALLET" if _bech32_valid(value) else ""
    budget.spend(26)
    return _base58_entity(value)


def _base58_entity(value: bytes) -> str:
    """The entity by the size of the payload: 21 bytes are an address, 33 or 34 a private key, others nothing."""
    size = _base58_payload(value, *(_RIPPLE if value[:1] == b"r" else _BITCOIN))
    return {21: "CRYPTO_WALLET", 33: "SECRET", 34: "SECRET"}.get(size, "")


def _base58_payload(value: bytes, zero: bytes, values: bytes) -> int:
    """The payload's size in bytes if the checksum is valid, else 0."""
    number = 0
    for digit in value.translate(values):
        number = number * 58 + digit
    zeros = len(value) - len(value.lstrip(zero))
    raw = b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")
    if len(raw) not in (25, 37, 38):
        return 0
    digest = hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()
    return len(raw) - 4 if digest[:4] == raw[-4:] else 0


def _bech32_valid(value: bytes) -> bool:
    """Whether the checksum is that of bech32 (1) or bech32m (0x2bc830a3)."""
    prefix, _, rest = value.rpartition(b"1")
    data = [_BECH32_ALPHABET.find(code) for code in rest]
    if -1 in data:
        return False
    check = 1
    for step in [code >> 5 for code in prefix] + [0] + [code & 31 for code in prefix] + data:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ step
        for bit in range(5):
            check ^= _BECH32_GENERATOR[bit] if (top >> bit) & 1 else 0
    return check in (1, 0x2BC830A3)
