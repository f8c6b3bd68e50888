"""Adapting a DeepSeek-OCR upstream: placeholders, limits, special tokens, loops."""

import pytest

from gateway.domain import RequestStats
from gateway.services.ocr.upstream import OcrAdapter
from tests.support.ocr_scripted import TEXT, ScriptedUpstream, body, part, raw_chunks


@pytest.mark.parametrize(("setting", "sent"), [("strip", "Free OCR."), ("keep", "<image>\nFree OCR.")])
async def test_the_image_placeholder_follows_the_upstreams_setting(setting: str, sent: str) -> None:
    inner = ScriptedUpstream("x")
    await OcrAdapter(inner, image_placeholder=setting).complete(body(part("u"), TEXT), RequestStats())
    assert inner.bodies[0]["messages"][0]["content"][1]["text"] == sent


async def test_max_tokens_is_clamped_to_what_the_context_leaves() -> None:
    inner = ScriptedUpstream("x", "x")
    adapter = OcrAdapter(inner)
    await adapter.complete(body(part("u"), TEXT, max_tokens=8000), RequestStats())
    await adapter.complete(body(part("u"), TEXT, max_tokens=50), RequestStats())
    assert 6000 < inner.bodies[0]["max_tokens"] <= 8192 - 1156 and inner.bodies[1]["max_tokens"] == 50


async def test_special_tokens_and_loops_are_taken_out_of_a_whole_answer() -> None:
    raw = "<|ref|>text<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>\n" + "No. 1\n" * 200
    answer = await OcrAdapter(ScriptedUpstream(raw, finish="length")).complete(body(part("u"), TEXT), RequestStats())
    choice = answer["choices"][0]
    assert choice["message"]["content"] == "text[[1, 2, 3, 4]]\nNo. 1" and choice["finish_reason"] == "length"


async def test_special_tokens_are_taken_out_of_a_stream() -> None:
    inner = ScriptedUpstream(
        "<¦|re|f¦>Total<¦/|ref¦><¦det¦>[[1, 2, 3, 4]]<¦/de|t¦>".replace("|", "\0").replace("¦", "|")
    )
    inner.cut = "\0"
    data = [one for one in await raw_chunks(OcrAdapter(inner).stream(body(part("u"), TEXT), RequestStats())) if one]
    text = "".join(one["choices"][0]["delta"].get("content") or "" for one in data if one["choices"])
    assert text == "Total[[1, 2, 3, 4]]"


async def test_a_streamed_loop_is_ended_with_length_and_the_upstream_closed() -> None:
    inner = ScriptedUpstream("|".join(["Page 1\n", *["again and again\n"] * 400]))
    data = await raw_chunks(OcrAdapter(inner).stream(body(part("u"), TEXT), RequestStats()))
    assert data[-1] is None and data[-2] is not None
    assert data[-2]["choices"][0]["finish_reason"] == "length" and inner.closed == 1 and len(data) < 250
