"""Finds the style sheets of a page: those of `style` elements and `data:` links that hold on a screen.

Sheets elsewhere are not fetched, so what they hide stays. Runs in the parsing processes.
"""

import base64
import binascii
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from gateway.engines.html import media_query


def sheets(root: Any) -> Iterator[str]:
    """The texts of the sheets that hold in a browser with scripts, in document order."""
    for element in root.iter("style", "link"):
        if element.tag == "link" and "stylesheet" not in (element.get("rel") or "").lower():
            continue
        if not media_query.on_screen(element.get("media") or "") or _is_inert(element):
            continue
        if element.tag == "style":
            if (element.get("type") or "text/css").strip().lower() == "text/css" and element.text:
                yield element.text
        elif "stylesheet" in (element.get("rel") or "").lower().split() and element.get("disabled") is None:
            address = (element.get("href") or "").strip()
            if address[:13].lower() == "data:text/css":
                yield _of_data(address)


def _is_inert(element: Any) -> bool:
    return any(box.tag in ("noscript", "template") for box in element.iterancestors())


def _of_data(address: str) -> str:
    head, _, data = address.partition(",")
    if not head.lower().endswith(";base64"):
        return unquote(data)
    try:
        return base64.b64decode(unquote(data)).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""
