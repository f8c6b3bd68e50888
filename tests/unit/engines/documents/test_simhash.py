"""The simhash, counted in lanes, equals the plain definition."""

import hashlib

import pytest

from gateway.engines.documents.simhash import both


@pytest.mark.parametrize("words", [30, 31, 500, 2_500])
def test_each_bit_is_the_majority_of_the_hashes_of_runs_of_three_words(words: int) -> None:
    text = [f"word{number * 7 % 401}" for number in range(words)]
    runs = {" ".join(text[at : at + 3]) for at in range(min(words, 2_000) - 2)}
    hashes = [int.from_bytes(hashlib.blake2b(run.encode(), digest_size=8).digest(), "little") for run in runs]
    assert both(" ".join(text))[1] == sum(
        1 << bit for bit in range(64) if sum(each >> bit & 1 for each in hashes) * 2 > len(hashes)
    )
