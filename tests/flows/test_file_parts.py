"""Files in requests: their text goes to the model, masked like the rest; upstreams that take files get them whole."""

import base64
from typing import Any

import pytest

from tests.support import upstream as up
from tests.support.asking import ask, toml
from tests.support.gateways import Gateway, Serve
from tests.support.office_files import docx_file, pdf_file
from tests.support.upstream import Upstream

PDF = pdf_file([[(60, 780, 24, "Harbour report"), (60, 740, 12, "Write to ann.lee@posthaus.org for the crane.")]])
MASKED = '[guardrail]\nenabled = "off"\n[sanitize]\nroutes = ["chat"]\n'


def data_url(data: bytes, media_type: str = "application/pdf") -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def file_part(data: bytes = PDF, name: str = "report.pdf") -> dict[str, Any]:
    return {"type": "file", "file": {"filename": name, "file_data": data_url(data)}}


def asked(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, *parts]}]


def sent_text(upstream: Upstream) -> str:
    content = upstream.last.body["messages"][-1]["content"]
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


@pytest.mark.slow
async def test_a_file_part_of_chat_becomes_its_text(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    status, _, _ = await ask(server, messages=asked(file_part()))
    assert status == 200
    text = sent_text(upstream)
    assert "Content of the file report.pdf:\n\n# Harbour report" in text and "base64" not in text


@pytest.mark.slow
async def test_an_office_file_is_told_by_its_bytes(server: Gateway, upstream: Upstream) -> None:
    upstream.will(up.answer())
    status, _, _ = await ask(server, messages=asked(file_part(docx_file(), "goods.docx")))
    assert status == 200 and "- rope\n- paint" in sent_text(upstream)


@pytest.mark.slow
async def test_the_text_of_a_file_is_masked_like_a_message(serve: Serve, upstream: Upstream) -> None:
    server = await serve(toml(upstream) + MASKED)
    upstream.will(up.answer())
    status, answer, _ = await ask(server, messages=asked(file_part()))
    assert status == 200, answer
    assert "for the crane" in sent_text(upstream) and "ann.lee" not in sent_text(upstream)


@pytest.mark.slow
async def test_an_input_file_of_responses_and_a_document_of_messages_become_their_text(server: Gateway) -> None:
    server.upstream.will(up.answer())
    part = {"type": "input_file", "filename": "report.pdf", "file_data": data_url(PDF)}
    asking = {"model": "SvcLLM", "input": [{"role": "user", "content": [part]}]}
    status, answer, _ = await ask(server, "/v1/responses", **asking)
    assert status == 200, answer
    assert "# Harbour report" in sent_text(server.upstream)
    source = {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(PDF).decode()}
    block = {"type": "document", "title": "The report", "source": source}
    server.upstream.will(up.answer())
    status, answer, _ = await ask(server, "/v1/messages", max_tokens=9, messages=asked(block))
    assert status == 200, answer
    assert "Content of the file The report:\n\n# Harbour report" in sent_text(server.upstream)


async def test_an_upstream_that_accepts_files_gets_them_whole(serve: Serve, upstream: Upstream) -> None:
    server = await serve(toml(upstream, accepts_files=True))
    upstream.will(up.answer())
    assert (await ask(server, messages=asked(file_part())))[0] == 200
    assert upstream.last.body["messages"][-1]["content"][1] == file_part()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"type": "file", "file": {"file_id": "file-1"}}, "must come inside the request"),
        ({"type": "file", "file": {"file_data": "data:application/pdf;base64,%%%"}}, "must be a base64 data URL"),
        (file_part(PDF[:200]), "damaged"),
        (file_part(pdf_file([[]])), "holds no text"),
        ({"type": "file", "file": {"file_data": data_url(b"PK\x03\x04 none", "application/zip")}}, "cannot be read"),
    ],
)
async def test_a_file_that_cannot_be_read_is_refused_at_its_part(
    server: Gateway, part: dict[str, Any], words: str
) -> None:
    status, answer, _ = await ask(server, messages=asked(part))
    error = answer["error"]
    assert (status, error["code"], error["param"]) == (400, "invalid_file", "messages[0].content[1].file")
    assert words in error["message"]


async def test_too_many_files_are_refused(server: Gateway) -> None:
    status, answer, _ = await ask(server, messages=asked(*[file_part()] * 9))
    assert status == 400 and "at most 8 files" in answer["error"]["message"]
