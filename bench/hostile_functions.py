"""The product's functions that read foreign content, each with the kinds of input that it gets: `READERS`.

`tests/contract/test_growth.py` holds that their time grows in step with the input; `bench.hostile` prints what a byte
costs. A function that refuses its input answers with an exception, which counts as an answer.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import orjson

from bench import hostile_answers as answers
from bench import hostile_content as content
from bench import hostile_formats as formats
from bench import hostile_hidden
from bench import hostile_inputs as inputs
from bench import hostile_pages as pages
from gateway import schemas, trace
from gateway.access.token_counts import size_of
from gateway.engines.documents import simhash
from gateway.engines.documents.feeds import read_sitemap
from gateway.engines.documents.page import extract
from gateway.engines.documents.parse_pool import ExtractOptions
from gateway.engines.documents.parse_worker import MAX_STACK_FRAMES
from gateway.engines.documents.sniff import read
from gateway.engines.embedding.worker import WordPiece, load_vocabulary
from gateway.engines.fetch import robots, urls
from gateway.engines.fetch.decompression import DamagedBody, decoder_for
from gateway.engines.html import cleaning, encoding, head, tree
from gateway.engines.index import passage_rows, query, signals
from gateway.engines.index.vector_rows import passage_text
from gateway.engines.markdown.writer import Writer, WriterOptions
from gateway.engines.words import excerpt, sections
from gateway.engines.words import text as words
from gateway.errors import GatewayError
from gateway.key_scrubber import scrub_keys
from gateway.mcp.messages import Envelope, RpcFault, value_of
from gateway.sanitize.folding import View
from gateway.sanitize.plain_words import plain_text_cut
from gateway.sanitize.scanner import Scanner
from gateway.services.hosted_tools.citations import CitationFinder
from gateway.services.hosted_tools.page_text import find_in
from gateway.services.hosted_tools.sources import Sources
from gateway.services.websearch import filters, results
from gateway.services.websearch.arguments import Arguments
from gateway.wire import image_header, json_counts, mended_json, ocr, sse, text_walk, untrusted_json
from gateway.wire.json_body import BadJson, JsonBody, JsonLimits
from gateway.wire.openai_error import error_object

Make = Callable[[int], Any]
_URL = "https://example.org/a/b"
_REFUSALS = (GatewayError, DamagedBody, RpcFault, BadJson, ValueError, RecursionError)


class Reader(NamedTuple):
    """A function, its inputs by name, and the three sizes at which its growth is measured."""

    call: Callable[[Any], object]
    inputs: Mapping[str, Make]
    sizes: tuple[int, int, int] = (4_000, 8_000, 16_000)


_PAGE_SIZES, _QUICK_SIZES = (10_000, 20_000, 40_000), (40_000, 80_000, 160_000)
"""The second ones are for functions that take less than 50 µs for 16,000 characters."""


def _word_pieces() -> Callable[[str], object]:
    """A tokenizer without memory of the words of an earlier text."""
    vocabulary = load_vocabulary()
    return lambda text: WordPiece(vocabulary).encode(text, len(text) + 2)


def _parsed(make: Make, size: int) -> Any:
    return tree.parse(make(size))


def _trees() -> dict[str, Make]:
    return {name: partial(_parsed, make) for name, make in inputs.PAGES.items()}  # a new one for each: some are changed


def _structured_trees() -> dict[str, Make]:
    return {name: partial(_parsed, make) for name, make in {**inputs.PAGES, **inputs.STRUCTURED}.items()}


def _encoded(table: Mapping[str, Make], prefix: bytes = b"") -> dict[str, Make]:
    def make(text: Make, size: int) -> bytes:
        return prefix + str(text(size)).encode("utf-8", "replace")

    return {name: partial(make, text) for name, text in table.items()}


def _page(body: bytes) -> object:
    sys.setrecursionlimit(max(sys.getrecursionlimit(), MAX_STACK_FRAMES))
    return extract(body, ExtractOptions(_URL, query="value of the text", links=True, images=True))


def _head_of(root: Any) -> head.Head:
    return head.read_head(root, _URL)


def _written(root: Any, plain: bool = False) -> str:
    return Writer(WriterOptions(_URL, plain)).write(root)


def _pruned(root: Any) -> None:
    for step in (cleaning.write_formulas, cleaning.drop_code, tree.drop_furniture, tree.region_of):
        step(root)


def _robots(text: str) -> bool:
    return robots.parse(text, "gateway").allows("https://e/" + "a*%2a/" * 300)


def _allowed(path: str) -> bool:
    rules = robots.parse("user-agent: *\ndisallow: /*a*b*c*d*e*f$\nallow: /[*](*x", "gateway")
    return rules.allows("https://e/" + path)


def _stream(body: bytes, piece: int = 1 << 20) -> int:
    parser = sse.Parser()
    return sum(len(parser.feed(body[at : at + piece])) for at in range(0, len(body), piece)) + len(parser.close())


_ENVELOPE, _CHAT, _SCANNER = Envelope(), schemas.Checker(schemas.load("chat")), Scanner()
_ARGUMENTS = {name: Arguments(name, schemas.load(f"tools/{name}")) for name in ("search", "extract", "crawl")}


def _chat_problems(body: bytes) -> object:
    return _CHAT.check(JsonBody(body).value())


def _read(body: bytes) -> object:
    return asyncio.run(JsonBody.read(body, JsonLimits()))


def _mcp_messages(body: bytes) -> object:
    return _ENVELOPE.messages(value_of(JsonBody(body)))


def _arguments(text: str) -> None:
    for arguments in _ARGUMENTS.values():
        arguments.check(arguments.coerce(dict.fromkeys(arguments._properties, text)))


def _argument_names(text: str) -> None:
    for arguments in _ARGUMENTS.values():
        sent = dict.fromkeys((text[at : at + 8] for at in range(0, len(text), 8)), text[:8])
        arguments.check(arguments.coerce(sent))


def _fitted(text: str) -> None:
    results.fit([{"raw_content": text} for _ in range(3)], max(300, len(text)))


def _cited(text: str) -> None:
    sources = Sources()
    for url in (_URL, "https://example.org/北京"):
        sources.add(url, "T")
    finder = CitationFinder(sources)
    for at in range(0, len(text), 5):
        finder.push(text[at : at + 5])
    finder.flush()
    finder.push(text)


def _cited_address(text: str) -> None:
    _cited(f"{_URL}{text}")
    _cited(f"[a]({_URL}{text}")


def _urls(text: str) -> None:
    for url in (text, "https://e/" + text, "https://" + text, "https://e/?" + text, "https://e/;" + text):
        urls.canonical(url)
        urls.join(_URL, url)


def _words_of(text: str) -> None:
    passage_rows.search_row(sections.Passage(0, len(text), ()), text, passage_rows.PageText("", "", "", ""), "")
    words.terms(text)
    words.terms_among(words.words_of(text), {"cach", "index"})
    signals.heaviest_run(("a", "a", "a", "index"), (0.2,) * 4, query.comparable(signals.lasting_text(text)))


_IMAGE_HEADS = {
    "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\1\0\x08\x06\0\0\0\0\0\0\0", "jpeg": b"\xff\xd8\xff\xe0\0\x04ab",
    "gif": b"GIF89a\1\0\1\0",
    "webp": b"RIFF\xff\xff\0\0WEBPVP8X", "bmp": b"BM" + b"\0" * 12, "tiff": b"II*\0\x08\0\0\0",
}  # fmt: skip
_IMAGE_UNITS = (
    b"\xff", b"\xff\xe1\0\x02", b"\xff\xd8", b"\0", b"\0\0\0\0IDAT", b"\0\0\0\1tEXta\0\0\0\0", b"VP8 \0\0\0\0",
    b"\x12\1\3\0",
)  # fmt: skip


def _images() -> dict[str, Make]:
    def make(head: bytes, unit: bytes, size: int) -> bytes:
        return head + unit * (size // len(unit))

    return {
        f"{name} {unit!r}": partial(make, head, unit) for name, head in _IMAGE_HEADS.items() for unit in _IMAGE_UNITS
    }


_MIXED_TEXTS = {**inputs.TEXTS, "html": inputs.PAGES["signs"], "links": inputs.PAGES["links"]}

READERS: dict[str, Reader] = {
    "message blocks": Reader(answers.blocks, answers.ANSWERS, (1_000, 2_000, 4_000)),
    "streamed response": Reader(answers.streamed_response, answers.DELTAS),
    "whole answer with hosted tools": Reader(answers.hosted_chat, answers.HOSTED),
    "messages body": Reader(lambda body: answers.to_chat(body, 8), answers.REQUESTS, _QUICK_SIZES),
    "page": Reader(_page, _encoded(inputs.PAGES), (5_000, 10_000, 20_000)),
    "page that fell": Reader(_page, _encoded({kind: pages.MORE_PAGES[kind] for kind in pages.FELL})),
    "page of text": Reader(lambda text: read("markdown", text, "text/markdown", False), _encoded(inputs.TEXTS)),
    "page of xml": Reader(lambda text: read("xml", text, "", False), _encoded(inputs.PAGES | pages.MORE_DOCUMENTS)),
    "mail": Reader(formats.mail, formats.MAILS, _QUICK_SIZES),
    "notebook": Reader(formats.notebook, formats.NOTEBOOKS, _QUICK_SIZES),
    "text document": Reader(content.text_document, content.text_documents(inputs.TEXTS)),
    "document of any XML": Reader(content.text_document, content.odd_documents(inputs.PAGES)),
    "hidden text of files": Reader(hostile_hidden.read, hostile_hidden.HIDDEN),
    "charset": Reader(content.encoded_text, _encoded(inputs.TEXTS, b"<meta charset="), _QUICK_SIZES),
    "charset of a header": Reader(lambda text: encoding.decode(b"a", "text/html; charset=" + text), inputs.TEXTS),
    "page sent as XML": Reader(tree.as_html, inputs.PAGES | inputs.TEXTS),
    "head": Reader(_head_of, _trees(), _PAGE_SIZES),
    "structured data": Reader(content.structured, _structured_trees(), _PAGE_SIZES),
    "signs of scripts": Reader(content.signs, _trees(), _PAGE_SIZES),
    "data of scripts": Reader(content.state, inputs.TEXTS),
    "hidden parts": Reader(content.hidden, _trees(), _PAGE_SIZES),
    "links": Reader(lambda root: head.links_of(root, None, _head_of(root)), _trees(), _PAGE_SIZES),
    "pruning": Reader(_pruned, _trees(), _PAGE_SIZES),
    "blocks": Reader(content.comments, _trees(), _PAGE_SIZES),
    "markdown": Reader(_written, _trees(), _PAGE_SIZES),
    "plain text": Reader(partial(_written, plain=True), _trees(), _PAGE_SIZES),
    "refresh": Reader(lambda text: head.refresh_target("1; url=" + text, _URL), inputs.TEXTS),
    "fences": Reader(sections.closing, inputs.TEXTS),
    "excerpt": Reader(lambda text: excerpt.excerpt(text, "value of a text"), inputs.TEXTS),
    "passages": Reader(sections.passages, inputs.TEXTS),
    "contents list": Reader(content.contents, inputs.TEXTS),
    "word pieces": Reader(_word_pieces(), inputs.TEXTS),
    "text of a passage": Reader(lambda text: passage_text(text[:99], text, text), inputs.TEXTS),
    "passages as plain text": Reader(sections.plain_text, inputs.TEXTS),
    "words": Reader(_words_of, inputs.TEXTS),
    "likeness": Reader(simhash.both, inputs.TEXTS),
    "robots": Reader(_robots, inputs.ROBOTS),
    "robots of a path": Reader(_allowed, inputs.TEXTS),
    "sitemap": Reader(read_sitemap, _encoded(inputs.SITEMAPS | pages.MORE_SITEMAPS), _QUICK_SIZES),
    "urls": Reader(_urls, inputs.TEXTS),
    "caller's url": Reader(urls.from_caller, inputs.TEXTS),
    "stream": Reader(_stream, inputs.STREAMS, _QUICK_SIZES),
    "stream in pieces": Reader(partial(_stream, piece=7), inputs.STREAMS),
    "gzip": Reader(lambda body: decoder_for("gzip", 1 << 24).feed(body), inputs.ARCHIVES, _QUICK_SIZES),
    "chat body": Reader(_chat_problems, inputs.BODIES, _QUICK_SIZES),
    "mcp body": Reader(_mcp_messages, inputs.BODIES, _QUICK_SIZES),
    "arguments": Reader(_arguments, inputs.TEXTS),
    "argument names": Reader(_argument_names, inputs.TEXTS),
    "body within limits": Reader(_read, inputs.BODIES),
    "JSON documents": Reader(answers.masked_arguments, inputs.BODIES),
    "log probabilities": Reader(answers.spelt_logprobs, answers.LOGPROBS, _QUICK_SIZES),
    "texts of a body": Reader(lambda body: text_walk.text_slots(orjson.loads(body)), inputs.BODIES),
    "counts of a body": Reader(lambda body: [*json_counts.so_far(body)], inputs.BODIES),
    "half characters": Reader(mended_json.mended_json, inputs.BODIES),
    "upstream's error": Reader(lambda text: error_object(GatewayError(text)), inputs.TEXTS),
    "image header": Reader(image_header.read_header, _images(), _QUICK_SIZES),
    "folding": Reader(lambda text: View(text).folded, inputs.TEXTS),
    "detectors": Reader(_SCANNER.scan_uncached, _MIXED_TEXTS),
    "detectors on a url": Reader(lambda text: _SCANNER.scan_url("https://e/" + text), inputs.TEXTS),
    "quick look": Reader(lambda text: plain_text_cut(text, 0), inputs.TEXTS),
    "key scrubber": Reader(scrub_keys, inputs.TEXTS),
    "result budget": Reader(_fitted, inputs.TEXTS),
    "filters": Reader(lambda text: (filters.phrases(text), filters.published(text), filters.fold(text)), inputs.TEXTS),
    "ocr answer": Reader(ocr.parse_blocks, inputs.TEXTS),
    "ocr tokens": Reader(answers.special_tokens, inputs.TEXTS),
    "repetition": Reader(answers.loop_guard, inputs.TEXTS),
    "custom input": Reader(answers.custom_input, inputs.TEXTS),
    "citations": Reader(_cited, inputs.TEXTS),
    "cited address": Reader(_cited_address, inputs.TEXTS),
    "place in a page": Reader(lambda text: find_in(text, text[:8] or "a", None), inputs.TEXTS),
    "thoughts": Reader(untrusted_json.without_thinking, inputs.TEXTS),
    "trace": Reader(lambda text: trace.parent_of("00-" + text), inputs.TEXTS),
    "token estimate": Reader(
        lambda body: size_of({"messages": (read := orjson.loads(body)), "tools": read}), inputs.BODIES
    ),
}
"""By the name that `bench.hostile` prints."""
MORE_READERS = {"page, odd": Reader(_page, _encoded(pages.MORE_PAGES) | dict(pages.CHARSETS))}
"""Those that `bench.hostile` alone takes, as they take a minute."""


def answer(reader: Reader, value: Any) -> None:
    """The reader's answer to an input, or its refusal."""
    try:
        reader.call(value)
    except _REFUSALS:
        return
