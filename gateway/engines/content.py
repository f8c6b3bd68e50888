"""Chooses what of a page is its content, by the kind of page it is."""

from dataclasses import dataclass
from typing import Any

from gateway.engines.dom import drop_furniture, region_of
from gateway.engines.metadata import Head


@dataclass(frozen=True, slots=True)
class Content:
    """The pruned region, the page's type, and text that stood only in embedded data."""

    region: Any
    page_type: str = "article"
    extra: str = ""


def main_content(root: Any, markup: str, head: Head, depth: str) -> Content:
    """Prunes the document in place and returns its content region."""
    drop_furniture(root)
    return Content(region_of(root).element)
