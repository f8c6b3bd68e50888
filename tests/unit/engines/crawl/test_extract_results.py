"""What extract and map say of pages: sections, final addresses, reasons, and the root once."""

import gzip
import random
from pathlib import Path

import pytest

from gateway.domain import ExtractRequest, Json
from gateway.engines.documents.parse_pool import ExtractOptions
from gateway.errors import EngineMissing, InvalidRequest
from tests.support.websites import Engine, Site, engine, page

pytestmark = pytest.mark.slow  # a parse process for each test

WORDS = "The manual says what each option is good for and when it should be set by hand. "


def manual() -> str:
    parts = "".join(f"<h2 id='part{n}'>Part {n}</h2><p>{f'Word{n} stands here. ' + WORDS * 6}</p>" for n in range(40))
    return f"<html><head><title>Manual</title></head><body><main><h1>Manual</h1>{parts}</main></body></html>"


async def test_a_page_over_the_budget_lists_sections_that_give_the_rest(tmp_path: Path, site: Site) -> None:
    site.pages["/"] = manual()
    async with engine(tmp_path, (site.address,), result_budget_chars=5_000) as made:
        data = await made.service.extract(ExtractRequest((f"{site.url}/",)), made.call())
        sections = data["results"][0]["sections"]
        texts = []
        for each in sections:
            answer = await made.service.extract(ExtractRequest((each["url"],)), made.call())
            assert "truncated" not in answer and "sections" not in answer["results"][0]
            texts.append(answer["results"][0]["raw_content"])
    assert data["truncated"] is True and "fewer" not in data["note"] and "`sections`" in data["note"]
    assert all(any(f"Word{n} stands here" in text for text in texts) for n in range(40))


async def test_a_fragment_gives_its_section_and_one_of_none_the_page_with_a_note(site: Site, made: Engine) -> None:
    site.pages |= {"/": manual()}
    one = await made.service.extract(ExtractRequest((f"{site.url}/#part7",)), made.call())
    none = await made.service.extract(ExtractRequest((f"{site.url}/#nowhere",)), made.call())
    found = await made.index.stats()
    text = one["results"][0]["raw_content"]
    assert "Word7 stands" in text and "Word8" not in text and one["results"][0]["url"].endswith("/#part7")
    assert "Word39" in none["results"][0]["raw_content"] and "/#nowhere" in none["note"]
    assert found["pages"] == 1


async def test_a_page_in_another_encoding_than_it_says_comes_with_a_note(site: Site, made: Engine) -> None:
    text = "Москва является столицей России и крупнейшим городом страны."
    site.pages |= {"/": (200, {"Content-Type": "text/html; charset=utf-8"}, f"<p>{text}".encode("cp1251"))}
    data = await made.service.extract(ExtractRequest((f"{site.url}/",)), made.call())
    assert data["results"][0]["raw_content"] == text
    assert "not in the encoding that they say" in data["note"] and data["results"][0]["note"] in data["note"]


async def test_an_extract_that_reads_nothing_fails_with_every_reason(site: Site, made: Engine) -> None:
    site.pages |= {"/busy": (429, {"Retry-After": "60"}, b"")}
    with pytest.raises(InvalidRequest, match="none of the 2 pages") as several:
        await made.service.extract(ExtractRequest((f"{site.url}/a", f"{site.url}/b")), made.call())
    with pytest.raises(InvalidRequest, match=r"429: too many requests; it asks to wait 60 s$") as busy:
        await made.service.extract(ExtractRequest((f"{site.url}/busy",)), made.call())
    assert several.value.partial is not None and len(several.value.partial["failed_results"]) == 2
    assert several.value.retryable is False
    assert busy.value.retryable is True and busy.value.retry_after_s == 60


async def test_a_name_that_does_not_exist_and_an_address_that_is_private_have_their_own_words(tmp_path: Path) -> None:
    async with engine(tmp_path) as made:
        with pytest.raises(InvalidRequest) as caught:
            request = ExtractRequest(("http://10.0.0.1/", "http://intranet/", "http://db.internal/"))
            await made.service.extract(request, made.call())
    assert caught.value.partial is not None
    reasons = {failure["error"] for failure in caught.value.partial["failed_results"]}
    assert len(reasons) == 1 and "web.allow_private" in reasons.pop()


@pytest.mark.parametrize("is_whole", [True, False])
async def test_a_compressed_page_that_ends_early_is_given_with_a_note(site: Site, made: Engine, is_whole: bool) -> None:
    draw = random.Random(3)
    words = " ".join(f"word{draw.randrange(10**9)}" for _ in range(3_000))
    packed = gzip.compress(f"<main><h1>Manual</h1><p>The first line. {words}</p></main>".encode())
    headers = {"Content-Type": "text/html", "Content-Encoding": "gzip"}
    site.pages |= {"/": (200, headers, packed if is_whole else packed[: len(packed) // 2])}
    data = await made.service.extract(ExtractRequest((f"{site.url}/",)), made.call())
    assert "The first line." in data["results"][0]["raw_content"]
    assert ("ended early" in data.get("note", "")) is not is_whole


async def test_an_address_that_needs_a_missing_extra_costs_only_itself(
    site: Site, made: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages |= {"/": page("Home", WORDS * 3), "/a.docx": (200, {"Content-Type": "application/x"}, b"PK\x03\x04")}
    read = made.pool.extract

    async def without_office(body: bytes, options: ExtractOptions, owner: str = "") -> Json:
        if options.url.endswith(".docx"):
            raise EngineMissing("such documents need the extra 'office'")
        return await read(body, options, owner)

    monkeypatch.setattr(made.pool, "extract", without_office)
    urls = (f"{site.url}/a.docx", f"{site.url}/", "ftp://example.org/x", "not an address")
    data = await made.web.extract(ExtractRequest(urls), made.call())
    with pytest.raises(EngineMissing, match="office"):
        await made.web.extract(ExtractRequest(urls[:1]), made.call())
    assert [each["url"] for each in data["results"]] == [urls[1]]
    assert [each["url"] for each in data["failed_results"]] == [urls[0], *urls[2:]]
    assert "office" in data["failed_results"][0]["error"]
