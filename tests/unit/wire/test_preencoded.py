"""Objects given out many times: copies share nothing that can be changed, and are told apart from what was changed."""

from typing import Any

import orjson
import pytest

from gateway.wire.preencoded import PackedJson

WHOLE: dict[str, Any] = {"query": "q", "results": [{"title": "one", "tags": ["a"]}], "images": []}


def test_it_dumps_like_the_object_itself_packed_and_unpacked() -> None:
    packed = PackedJson.of(WHOLE)
    assert orjson.loads(orjson.dumps(packed)) == WHOLE and dict(packed.copy().unpack()) == WHOLE


def test_what_is_changed_in_one_copy_no_other_has() -> None:
    packed = PackedJson.of(WHOLE)
    changed = packed.copy().unpack()
    changed["results"][0]["tags"].append("b")
    changed["query"] = "another"
    assert dict(packed.copy().unpack()) == WHOLE and WHOLE["results"][0]["tags"] == ["a"]


def test_only_copies_that_cannot_have_changed_are_alike() -> None:
    packed, other = PackedJson.of(WHOLE), PackedJson.of(WHOLE)
    assert packed.scan_token == packed.copy().scan_token != other.scan_token
    assert packed.copy().unpack().scan_token is None


def test_text_that_is_no_unicode_cannot_be_packed() -> None:
    with pytest.raises(TypeError):
        PackedJson.of({"results": ["\ud800"]})
