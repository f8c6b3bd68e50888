"""What is read of a page of HTML that a test has written."""

from gateway.domain import Json
from gateway.engines.documents.page import extract
from gateway.engines.documents.parse_pool import ExtractOptions


def page_of(
    markup: str | bytes, url: str = "http://a.test/", content_type: str = "text/html", **options: object
) -> Json:
    body = markup.encode() if isinstance(markup, str) else markup
    return extract(body, ExtractOptions(url, content_type, **options))  # type: ignore[arg-type]


def content_of(
    markup: str | bytes, url: str = "http://a.test/", content_type: str = "text/html", **options: object
) -> str:
    return str(page_of(markup, url, content_type, **options)["content"])
