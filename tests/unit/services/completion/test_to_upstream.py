"""What goes to an upstream: images put in, names of today, no field that names a host."""

import asyncio

import pytest

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.services.completion.images import MAX_IMAGES, data_urls, inline_images
from gateway.wire.chat.request import UpstreamOptions, image_parts, to_upstream

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


class Pictures:
    """Implements ports.ImageSource."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked: list[str] = []

    async def fetch_image(self, url: str, max_bytes: int) -> bytes:
        self.asked.append(url)
        return self.data


def asking(*urls: object) -> Json:
    addresses = [url if isinstance(url, str) else {"url": "https://x.example/a"} for url in urls]
    parts = [{"type": "image_url", "image_url": address} for address in addresses]
    return {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "see"}, *parts]}]}


async def test_images_by_url_are_put_in_whatever_their_form() -> None:
    source, body = Pictures(PNG), asking(None, "https://x.example/b")
    part = {"type": "input_image", "image_url": "https://x.example/c", "detail": "low"}
    body["messages"].append({"role": "user", "content": [part]})
    await inline_images(image_parts(body), source)
    sent = to_upstream(body, UpstreamOptions("u"))["messages"]
    images = [part["image_url"] for message in sent for part in message["content"] if part["type"] == "image_url"]
    assert len(images) == 3 and all(image["url"].startswith("data:image/png;base64,iVBOR") for image in images)
    assert images[2]["detail"] == "low" and sorted(source.asked)[2] == "https://x.example/c"


ADDRESSES = [
    {"type": "video_url", "video_url": {"url": "http://10.0.0.1/v"}},
    {"type": "audio_url", "audio_url": "http://10.0.0.1/a"},
    {"image_url": "http://10.0.0.1/i"},
    {"type": "text", "text": "x", "image_url": {"url": "http://10.0.0.1/i"}},
]


@pytest.mark.parametrize("part", ADDRESSES, ids=str)
async def test_no_other_address_reaches_an_upstream_that_would_fetch_it(part: Json) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": [part]}]}
    with pytest.raises(InvalidRequest, match="only images are fetched here") as refused:
        await inline_images(image_parts(body), Pictures(PNG))
    assert refused.value.param is not None and refused.value.param.startswith("messages[0].content[0].")
    inside = {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}}
    assert image_parts({"model": "m", "messages": [{"role": "user", "content": [inside]}]}) == []


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x.example/a", "//x.example/a", "javascript:1"])
async def test_no_other_scheme_is_taken(url: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        await inline_images(image_parts(asking("https://x.example/a", url)), Pictures(PNG))
    assert refusal.value.param == "messages[0].content[2].image_url.url"


async def test_what_is_no_image_and_too_many_are_refused() -> None:
    with pytest.raises(InvalidRequest):
        await inline_images(image_parts(asking(None)), Pictures(b"<html>"))
    with pytest.raises(InvalidRequest):
        await inline_images(image_parts(asking(*[None] * (MAX_IMAGES + 1))), Pictures(PNG))


@pytest.mark.parametrize(
    "name", ["api_base", "base_url", "API_KEY", "extra_headers", "aws_secret_access_key", "vertex_project"]
)
def test_fields_that_name_a_host_or_a_credential_never_go_on(name: str) -> None:
    body: Json = {"model": "m", "messages": [{"role": "user", "content": "x"}], name: "evil", "seed": 7}
    assert to_upstream(body, UpstreamOptions("up")) == {"model": "up", "messages": body["messages"], "seed": 7}


def test_todays_names_go_up_whatever_the_caller_calls_them() -> None:
    asked = {"role": "user", "content": [{"type": "input_text", "text": "x"}]}
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "f"}}]}
    results = [{"role": "tool", "content": "1"}, {"role": "tool", "content": "2", "name": "g"}]
    body: Json = {"model": "m", "messages": [{"role": "developer", "content": "be kind"}, asked, called, *results]}
    function = {"type": "function", "name": "f"}
    body |= {"max_completion_tokens": 9, "tools": [{**function, "parameters": {}}], "tool_choice": function}
    sent = to_upstream(body, UpstreamOptions("up", {"top_k": 1}))
    assert [m["role"] for m in sent["messages"]] == ["system", "user", "assistant", "tool", "user"]
    assert sent["messages"][3]["tool_call_id"] == "c1" and "result of g" in sent["messages"][4]["content"]
    assert sent["messages"][1]["content"] == [{"type": "text", "text": "x"}]
    assert sent["max_completion_tokens"] == 9 and "max_tokens" not in sent and sent["top_k"] == 1
    assert sent["tools"][0]["function"]["name"] == "f" == sent["tool_choice"]["function"]["name"]


async def test_when_one_image_is_refused_the_others_are_let_go_at_once() -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()

    class Slow:
        async def fetch_image(self, url: str, max_bytes: int) -> bytes:
            if url.endswith("/bad"):
                await begun.wait()
                raise InvalidRequest("no such image")
            begun.set()
            try:
                await asyncio.sleep(60)
            finally:
                let_go.set()
            return PNG

    async with asyncio.timeout(5):
        with pytest.raises(InvalidRequest, match="no such image") as refused:
            await data_urls([("http://a.test/slow", "first"), ("http://a.test/bad", "second")], Slow())
        assert refused.value.param == "second"
        await let_go.wait()
