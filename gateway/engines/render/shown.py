"""What becomes of a page in a tab: it is shown, or lost. Values only."""

from dataclasses import dataclass

from gateway.engines.render.frames import Reason


class PageLost(Exception):
    """The page has no rendering; `reason` as in `frames`."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


@dataclass(frozen=True, slots=True)
class Shown:
    """A page as it was rendered: its address, HTML in UTF-8, and a picture where one was asked for, else empty."""

    url: str
    html: bytes
    picture: bytes = b""
