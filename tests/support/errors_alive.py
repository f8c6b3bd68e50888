"""Finds errors that only the garbage collector would free: each holds the frames that it came through, and what they
hold."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collections() -> Iterator[None]:
    """Meanwhile the garbage collector does nothing; before, everything it would free is gone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def errors_alive() -> list[BaseException]:
    """All errors that exist."""
    return [each for each in gc.get_objects() if issubclass(type(each), BaseException)]  # asking `__class__` runs code
