"""Finds the price of the product that a page is about, and the prices beside goods.

Runs in the parsing processes. Knows neither models nor page types.
"""

import re
from collections.abc import Sequence

from gateway.engines.content.block_features import PRICE
from gateway.engines.content.blocks import TextBlock
from gateway.engines.content.page_parts import ACTIONS

_PRICE_REACH, _PRICE_WORDS = 12, 8
"""Blocks below the title, and the most words of one, in which a product's price is looked for. Chosen: a brand, a
rating and a picture stand between; "now 19.99 instead of 24.99" has six words. At half these are missed; at double
prices of delivery and of other goods come."""
_HEADING = re.compile(r"^h[1-6]$")


def keep_price(blocks: Sequence[TextBlock], parts: Sequence[int], keep: list[bool]) -> None:
    """Keeps the first price below the title of a product's page, before the next heading."""
    title = next((at for at, block in enumerate(blocks) if block.element.tag == "h1"), len(blocks))
    for at in range(title + 1, min(title + 1 + _PRICE_REACH, len(blocks))):
        block = blocks[at]
        if _HEADING.match(block.element.tag):
            if block.text == blocks[title].text:
                continue  # a second rendering of the title
            return
        if is_price(block, parts[at]):
            keep[at] = True
            return


def is_price(block: TextBlock, part: int) -> bool:
    """True for a price, which may share its line with a button. `part`: the block's bits of `page_parts`."""
    is_label = block.link_words == len(block.words) or part & ACTIONS
    return len(block.words) <= _PRICE_WORDS and not is_label and PRICE.search(block.text) is not None
