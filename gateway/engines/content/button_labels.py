"""Removes what shares a line with a price or a name of goods and is no part of it. Runs in the parsing processes."""

import re
from typing import Any

from gateway.engines.content.block_features import PRICE
from gateway.engines.content.page_parts import is_action
from gateway.engines.html.dom import remove_all, text_of, text_size, values_of

_SPOKEN_NAMES = frozenset(
    {"sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "show-for-sr", "element-invisible",
     "a11y-hidden", "govuk-visually-hidden"}
)  # fmt: skip
"""Classes of what a page shows to screen readers alone, as the style libraries call it: Bootstrap and Tailwind,
Bootstrap 5 and Drupal, HTML5 Boilerplate, WordPress, Foundation, Drupal 7, and those who follow them."""
_SPOKEN_LABEL = re.compile(
    r"(?:regular|sale|unit|original|current|old|new) price:?|variant sold out or unavailable|collection:|\W{1,3}",
    re.IGNORECASE,
)
"""Labels for screen readers that shops repeat at every price, choice or title; or a mark, such as the check box of an
ingredient."""
_BEGINS = re.compile(r"[$€£¥]?\w|-\d")
"""The beginning of a new field behind a price. The cents of the price itself begin with a decimal mark."""
_LABEL_CHARS = 40
"""Longest label of a button. Chosen: "add 2 to shopping basket"; at half such are kept, at double names of goods that
begin like a button go."""


def remove_labels(body: Any) -> None:
    """Removes what shares a line with a price or a name and is no part of it: the labels of buttons ("19.99 Add to
    cart"), and those of prices that are there for screen readers alone ("Regular price")."""
    labels = [label for label in body.iter("a", "button") if label.tag == "button" or not len(label)]
    gone = [label for label in labels if text_size(label) <= _LABEL_CHARS and is_action(text_of(label))]
    spoken = {names for names in set(values_of("class", body)) if not _SPOKEN_NAMES.isdisjoint(names.split())}
    for label in body.iter("span", "small", "label", "p", "div") if spoken else ():
        if label.get("class") in spoken and not len(label) and _SPOKEN_LABEL.fullmatch(text_of(label)):
            gone.append(label)
    for label in gone:
        label.tail = f" {label.tail or ''}"  # what stands before and behind is not one word
    remove_all(gone)
    _part_fields(body)


def _part_fields(body: Any) -> None:
    """Sets a blank between choices ("Oat", "Moss") and behind a price, where the style of the page alone parts them."""
    for field in body.iter("label", "a", "del", "ins", "s", "span"):
        if field.tail:
            continue
        after = field.getnext()
        if after is None or not isinstance(after.tag, str):
            continue
        is_choice = field.tag == after.tag and field.tag in ("label", "a")
        if is_choice or (_is_short_price(field) and _BEGINS.match(text_of(after))):
            field.tail = " "


def _is_short_price(element: Any) -> bool:
    return text_size(element) <= _LABEL_CHARS and PRICE.search(text_of(element)) is not None
