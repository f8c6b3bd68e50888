"""Addresses that an upstream might fetch for a caller are refused wherever they stand; words and sources are not."""

from typing import Any

import pytest

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.caller_addresses import refuse_in_tools, refuse_media
from gateway.wire.chat.request import image_parts
from gateway.wire.responses.native import refuse_hosts

X = "http://169.254.169.254/secret"


def chat(part: Any, role: str = "user", **more: Any) -> Json:
    return {"messages": [{"role": role, "content": [part], **more}]}


PARTS = [
    {"type": "image", "image": X}, {"type": "video", "video": [X]}, {"type": "video_url", "video_url": {"url": X}},
    {"type": "input_audio", "input_audio": {"data": X, "format": "wav"}}, {"type": "text", "text": "a", "image_url": X},
    {"type": "image_url", "image_url": {"url": "data:,"}, "mask": {"deep": [{"url": X.upper()}]}},
]  # fmt: skip


@pytest.mark.parametrize("part", PARTS, ids=["image", "video", "video_url", "sound", "beside words", "deep"])
def test_an_address_in_a_part_is_refused_with_its_place(part: Json) -> None:
    with pytest.raises(InvalidRequest, match="only images are fetched here") as refused:
        image_parts(chat(part))
    assert (refused.value.param or "").startswith("messages[0].content[0].")


def test_an_address_beside_a_messages_content_is_refused_but_in_an_answer_of_before() -> None:
    said = {"type": "text", "text": "hello"}
    for role in ("user", "assistant"):
        with pytest.raises(InvalidRequest, match=r"messages\[0\]\.images\[0\]"):
            image_parts(chat(said, role, images=[X]))
    with pytest.raises(InvalidRequest, match=r"^documents\[0\]\.url"):
        refuse_media({**chat(said), "documents": [{"url": X}]}, "")
    assert image_parts(chat(said, role="assistant", citations=[X], search_results=[{"url": X}])) == []
    assert image_parts(chat(said, metadata={"source": X}, annotations=[{"url": X}], artifact=[X])) == []


NATIVE_BODIES = [
    {"tools": [{"type": "image_generation", "input_image_mask": {"image_url": X}}]},
    {"tools": [{"type": "mcp", "server_url": X}]},
    {"prompt": {"id": "p", "variables": {"a": {"type": "input_file", "file_url": X}}}},
    {"instructions": [{"role": "user", "content": [{"type": "input_image", "image_url": X}]}]},
    {"input": [{"role": "user", "content": [{"type": "input_video", "video_url": X}]}]},
]


@pytest.mark.parametrize(
    "body", NATIVE_BODIES, ids=["a tool's picture", "a tool's server", "a prompt's variable", "instructions", "a part"]
)
def test_an_address_for_a_native_upstream_is_refused(body: Json) -> None:
    with pytest.raises(InvalidRequest):
        refuse_hosts({"input": [], **body}, [])


@pytest.mark.parametrize("item", [
    {"role": "user", "content": [{"type": "input_file", "file_url": X}]},
    {"role": "assistant", "content": [{"type": "input_audio", "input_audio": {"data": X}}]},
    {"type": "function_call_output", "output": [{"type": "input_video", "video_url": X}]},
])  # fmt: skip
def test_a_stored_item_is_looked_at_like_the_requests_own(item: Json) -> None:
    for input_, earlier in (([item], []), ([], [item])):
        with pytest.raises(InvalidRequest, match="only images are fetched here"):
            refuse_hosts({"input": input_}, earlier)


ADDRESSES = [
    "file:///x/a.pdf", " https://h/", "https://h/\n", "s3://b/a", "https:\\\\host", "https:/host", "//host",
    "ht\ttps://h", "a",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_under_the_name_of_an_address_all_but_data_is_one(address: str) -> None:
    with pytest.raises(InvalidRequest):
        image_parts(chat({"type": "video_url", "video_url": {"url": address, "detail": "low"}}))
    if address not in ("a", "//host"):
        with pytest.raises(InvalidRequest):
            image_parts(chat({"type": "video", "video": address, "context": "words"}))
    image_parts(chat({"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA", "detail": "low"}}))


def test_words_schemas_and_sources_may_be_addresses() -> None:
    image_parts(chat({"type": "input_audio", "input_audio": {"data": "//uQ" + "A" * 9_000, "format": "mp3"}}))
    image_parts(chat({"type": "text", "text": X, "source": X, "metadata": {"url": X}}))
    image_parts(chat({"type": "text", "text": "see", "annotations": [{"url": X}]}))
    refuse_in_tools([{"type": "function", "function": {"name": "f", "parameters": {"$schema": X}}}, {"name": X}])
    refuse_in_tools([{"type": "web_search", "description": X}])
    refuse_hosts({"input": [{"role": "user", "content": X}], "prompt": {"id": "p", "variables": {"a": X}}}, [])


def test_a_container_of_an_upstream_gets_no_network() -> None:
    def interpreter(policy: Json) -> Json:
        return {"type": "code_interpreter", "container": {"type": "auto", "network_policy": policy}}

    shell = {"type": "shell", "environment": {"type": "container_auto", "network_policy": "allowlist"}}
    for tool in (interpreter({"type": "allowlist", "allowed_domains": ["intern.example"]}), shell):
        with pytest.raises(InvalidRequest, match="network_policy: only"):
            refuse_in_tools([tool])
    refuse_in_tools([interpreter({"type": "disabled"})])
