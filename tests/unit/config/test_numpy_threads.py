"""numpy calculates in one thread, unless the operator chose otherwise."""

import os

import pytest

from gateway.config.environment import BLAS_THREADS, keep_numpy_to_one_thread


def test_without_a_choice_numpy_gets_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BLAS_THREADS, "")
    monkeypatch.delenv(BLAS_THREADS)
    keep_numpy_to_one_thread()
    assert os.environ[BLAS_THREADS] == "1"


def test_the_operators_choice_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BLAS_THREADS, "3")
    keep_numpy_to_one_thread()
    assert os.environ[BLAS_THREADS] == "3"
