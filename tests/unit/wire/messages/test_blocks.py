"""The blocks of a message: the end of a call's arguments, and the order of pieces that come mixed."""

import itertools
import random
from typing import Any

import orjson
import pytest

from gateway.errors import UpstreamError
from gateway.wire.chat.calls import JsonEnd
from gateway.wire.messages.blocks import Blocks

DOCUMENTS = ["{}", '{"a":"}"}', '{"a":["\\"{",{"b":[]}]}', '{"a":"\\\\"}', '[1,{"a":2}]', '{"ü":"\\u007d{"}']


def is_complete(text: str) -> bool:
    """The naive form: decode it."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


@pytest.mark.parametrize("document", DOCUMENTS)
def test_arguments_are_complete_when_they_can_be_decoded_wherever_they_are_cut(document: str) -> None:
    for cuts in itertools.combinations(range(len(document) + 1), 2):
        end = JsonEnd()
        for first, last in itertools.pairwise([0, *cuts, len(document)]):
            end.add(document[first:last])
            assert end.is_complete() == is_complete(document[:last]), document[:last]


def pieces_of(texts: list[str], seed: int) -> list[tuple[int, str]]:
    """Calls of these arguments, each cut into pieces, mixed but in order within each call."""
    chosen = random.Random(seed)
    queues = []
    for index, text in enumerate(texts):
        cuts = sorted(chosen.choices(range(len(text) + 1), k=3))
        parts = [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]
        queues.append([(index, part) for part in parts])
    mixed = []
    while any(queues):
        queue = chosen.choice([each for each in queues if each])
        mixed.append(queue.pop(0))
    return mixed


@pytest.mark.parametrize("seed", range(40))
def test_calls_beside_each_other_become_blocks_one_after_the_other(seed: int) -> None:
    texts = ['{"a":1}', '{"b":"}{"}', "{}", '{"c":[1,2]}']
    blocks, events, named = Blocks(None), [], set[int]()
    blocks.is_whole = True
    for index, part in pieces_of(texts, seed):
        head: dict[str, Any] = {} if index in named else {"id": f"c{index}"}
        named.add(index)
        events += [event.data for event in blocks.call({"index": index, **head, "function": {"arguments": part}})]
    events += [event.data for event in blocks.end()]
    assert {block["id"]: block["input"] for block in blocks.content} == {
        f"c{index}": orjson.loads(text) for index, text in enumerate(texts)
    }
    open_block: int | None = None
    written: dict[int, str] = {}
    for event in events:
        assert event is not None
        if event["type"] == "content_block_start":
            assert open_block is None and event["index"] == len(written)
            open_block, written[event["index"]] = event["index"], ""
        elif event["type"] == "content_block_delta":
            assert event["index"] == open_block
            written[event["index"]] += event["delta"]["partial_json"]
        else:
            assert event["index"] == open_block
            open_block = None
    assert [orjson.loads(text) for text in written.values()] == [block["input"] for block in blocks.content]


def test_a_call_that_goes_on_after_its_end_is_an_error() -> None:
    blocks = Blocks(None)
    for index in (0, 1):
        list(blocks.call({"index": index, "id": "c", "function": {"name": "f", "arguments": "{}"}}))
    assert list(blocks.call({"index": 0, "function": {"arguments": " "}})) == []
    with pytest.raises(UpstreamError):
        list(blocks.call({"index": 0, "function": {"arguments": "x"}}))
