"""Random digits are never given out twice, whoever asks for them."""

import os
from concurrent.futures import ThreadPoolExecutor

from gateway.random_ids import random_hex


def test_digits_have_the_asked_length_and_never_come_again() -> None:
    assert [len(random_hex(size)) for size in (4, 12, 24)] == [8, 24, 48]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(random_hex, [12] * 5_000))
    assert len(set(found)) == 5_000


def test_a_forked_process_gives_out_none_of_its_parents() -> None:
    random_hex(4)  # from here on some are ready
    reader, writer = os.pipe()
    if not (pid := os.fork()):
        os.write(writer, "".join(random_hex(8) for _ in range(200)).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    theirs = os.read(reader, 200 * 16).decode()
    assert len(theirs) == 3_200 and not any(random_hex(8) in theirs for _ in range(200))
