"""What is a Jupyter notebook, and odd ones; how they are read is recorded in `tests/golden/documents/notebooks`."""

import json

import pytest

from gateway.engines.documents.sniff import kind_of, read
from tests.support.paths import GOLDEN
from tests.support.read_pages import page_of


@pytest.mark.parametrize("declared", ["application/json", "application/x-ipynb+json", "text/plain", ""])
def test_a_notebook_is_one_whatever_it_is_declared_as(declared: str) -> None:
    page = page_of((GOLDEN / "documents" / "notebooks" / "cells_in_order.json").read_bytes(), content_type=declared)
    assert (page["kind"], page["title"]) == ("notebook", "Fitting a line")


@pytest.mark.parametrize("body", [b'{"nbformat": "4"}', b'{"nbformat": 4, "cells": 1}', b'{"a": "nbformat"}'])
def test_json_that_is_no_notebook_stays_json(body: bytes) -> None:
    kind = kind_of("application/json", body)
    assert read(kind, body, "application/json", True)[1] == json.dumps(json.loads(body), indent=2)


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [None], [{}], [{"cell_type": "code", "outputs": [1, {}]}]])
def test_odd_cells_are_passed(value: object) -> None:
    body = json.dumps({"nbformat": 4, "cells": value, "metadata": value}).encode()
    read("notebook", body, "", False)
