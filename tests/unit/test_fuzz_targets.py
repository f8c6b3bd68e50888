"""The short form of `bench.fuzz`: the kept inputs, and mixtures of them, break no property of any parser."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.fuzz import mixed
from bench.fuzz_targets import CORPUS, TARGETS, seeds

MANY = 40
"""Mixtures of one target. The long form tries thousands."""
SLOW = {"long_json", "markdown_of_html"}
"""Targets that take milliseconds for each input."""

EXPECTED = [HealthCheck.too_slow, HealthCheck.data_too_large]


def test_every_target_has_a_small_corpus_and_every_corpus_a_target() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
    for name in TARGETS:
        assert len(seeds(name)) >= 4 and max(map(len, seeds(name))) <= 4096


@pytest.mark.parametrize("name", TARGETS)
def test_a_kept_input_breaks_no_property(name: str) -> None:
    for data in seeds(name):
        TARGETS[name](data)
        for end in range(0, len(data), max(1, len(data) // (4 if name in SLOW else 25))):
            TARGETS[name](data[:end])


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_a_mixture_of_kept_inputs_breaks_no_property(name: str) -> None:
    @settings(max_examples=MANY // 4 if name in SLOW else MANY, database=None, suppress_health_check=EXPECTED)
    @given(data=st.one_of(mixed(seeds(name)), st.binary(max_size=200)))
    def run(data: bytes) -> None:
        TARGETS[name](data)

    run()
