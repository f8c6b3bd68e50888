"""Random parts of ids, from the kernel's randomness read for 128 of them at a time.

A system call for each lets go of Python's lock: beside a thread that waits for it (the state file's) one took 50 µs.
"""

import os

_PIECE_BYTES, _PIECES = 24, 128
_left: list[bytes] = []
os.register_at_fork(after_in_child=_left.clear)


def random_hex(size: int) -> str:
    """Twice `size` hex digits, of up to 24 random bytes; may be called from any thread."""
    try:
        piece = _left.pop()
    except IndexError:
        data = os.urandom(_PIECE_BYTES * _PIECES)
        piece, *others = (data[start : start + _PIECE_BYTES] for start in range(0, len(data), _PIECE_BYTES))
        _left.extend(others)
    return piece[:size].hex()
