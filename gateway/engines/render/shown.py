"""What becomes of a page in a tab: it is shown, or lost. Values only."""

from dataclasses import dataclass

from gateway.engines.render.frames import MAX_BODY_BYTES, PictureLack, Reason


class PageLost(Exception):
    """The page has no rendering; `reason` as in `frames`."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


@dataclass(frozen=True, slots=True)
class Shown:
    """A page as it was rendered: its address and HTML in UTF-8; a picture where one was asked for, else empty;
    `no_picture`: why one that was asked for is missing."""

    url: str
    html: bytes
    picture: bytes = b""
    no_picture: PictureLack | None = None


def shown_page(read: object, picture: bytes | PictureLack) -> Shown:
    """The page of which the browser says that it is `{url, html}`; `picture` may be why there is none. Raises PageLost.

    A picture that is too large is left out: the text counts.
    """
    if not isinstance(read, dict) or not isinstance(read.get("url"), str) or not isinstance(read.get("html"), str):
        raise PageLost("slow")
    if not read["url"].startswith(("http://", "https://")):
        raise PageLost("no_answer")
    html = read["html"].encode("utf-8", "replace")
    if len(html) > MAX_BODY_BYTES:
        raise PageLost("too_large")
    if not isinstance(picture, bytes):
        return Shown(read["url"], html, no_picture=picture)
    if len(picture) > MAX_BODY_BYTES:
        return Shown(read["url"], html, no_picture="too_large")
    return Shown(read["url"], html, picture)
