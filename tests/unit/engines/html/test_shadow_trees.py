"""Declarative shadow trees are read in linear time; what is read of them is in `oddities.txt`."""

import pytest

from bench.growth import grows
from gateway.engines.html.hidden import drop_hidden
from gateway.engines.html.tree import parse


@pytest.mark.slow
def test_the_time_grows_with_the_number_of_trees() -> None:
    tree = "<style>p.a{display:none} :host{color:red}</style><p>Shadow</p><slot></slot>"
    each = f"<x-card><template shadowrootmode=open>{tree}</template><p>Own</p>words</x-card>"
    assert grows(drop_hidden, lambda count: parse(f"<html><body>{each * count}</body></html>"), (100, 200, 400)) is None
