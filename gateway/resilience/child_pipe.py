"""Writes to the pipe of a child process, which may have died a moment ago.

asyncio drops what is written to a pipe that the child has closed, uvloop raises RuntimeError. Here both raise
ConnectionResetError.
"""

import asyncio


def write_to_child(pipe: asyncio.StreamWriter, *parts: bytes) -> None:
    """Write the parts. Raises ConnectionResetError where the child has closed its end, as far as that is known yet."""
    if pipe.is_closing():
        raise ConnectionResetError
    try:
        for part in parts:
            pipe.write(part)
    except RuntimeError as error:  # uvloop 0.22 in UVHandle._ensure_alive; closed by the first part
        raise ConnectionResetError from error
