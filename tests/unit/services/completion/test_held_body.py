"""A body of many values is let go once it was taken; any other stays as it is."""

import gc
import weakref
from typing import Any

from gateway.services.completion.held_body import MANY_VALUES, HeldBody


class Watched(dict[str, Any]):
    """A body whose end can be seen."""


def test_a_body_of_many_values_is_let_go_and_comes_back_for_another_attempt() -> None:
    body = Watched(model="m", messages=[{"role": "user", "content": "hi"}])
    seen, held = weakref.ref(body), HeldBody(body, MANY_VALUES + 1)
    assert held.is_let_go and held.take() is body
    del body
    gc.collect()
    assert seen() is None
    assert held.take() == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert held.take() is not held.take()


def test_any_other_body_stays_as_it_is() -> None:
    body = {"model": "m"}
    held = HeldBody(body, MANY_VALUES)
    assert not held.is_let_go and held.take() is body and held.take() is body
