"""A second opinion on a page's content: trafilatura, asked at the depth `advanced`.

It is good at articles and poor at lists, shops and forums. So it does not enter the block model, which learnt from it
on 112 pages to trust it where it should not (word F1 of --depth advanced over seven kinds .809, without it .830:
bench.extract --cross-validate). It decides about doubtful blocks of a page that it reads much as the model does.
Runs in the parsing processes.
"""

import itertools
from collections.abc import Sequence

from gateway.engines.content.blocks import WORD, TextBlock
from gateway.errors import EngineMissing

WordPairs = set[tuple[str, str]]
_MAX_CHARS = 1_500_000
"""Markup given to trafilatura. Chosen: its time grows with the page; at half, the end of long documentation gets no
second opinion, at double one page may hold a parsing process for many seconds."""
_SHARED = 0.7
"""Share of the kept words that the second opinion must keep too before it decides about the rest. Measured on the
development part of bench.extract: from .5 lists lose parts (listing .694 against .716), at .8 fewer pages gain."""
_AGREED = 0.5
"""Share of a block's word pairs from which the second opinion keeps it. Chosen: half a block is quoted elsewhere at
double, and none is whole at 1."""
_LIKELY_ENOUGH = 0.3
"""Probability from which a block of the second opinion is added. Measured as above: at .1 articles lose .003."""
_STRUCTURE = frozenset({"pre", "td", "th", "li", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6"})
"""What is not dropped between blocks that it keeps: it leaves code, tables, lists and headings out of such texts."""


def second_opinion(markup: str) -> WordPairs | None:
    """Pairs of neighbouring words of the content that trafilatura finds; None when it finds none.

    Raises EngineMissing without the extra `web`.
    """
    try:
        import trafilatura  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise EngineMissing(
            "extract_depth advanced needs the extra 'web'; the operator must install it (pip install 'gateway[web]')"
        ) from error
    try:
        text = trafilatura.extract(markup[:_MAX_CHARS], include_comments=False) or ""
    except Exception:  # a second opinion may fail on pages that we can read
        return None
    words = WORD.findall(text.lower())
    return set(itertools.pairwise(words)) if words else None


def follow(opinion: WordPairs, blocks: Sequence[TextBlock], probabilities: Sequence[float], keep: list[bool]) -> None:
    """Drops kept blocks that the second opinion lacks and adds likely ones that it has, if it shares most of the rest.
    Blocks of one word, of which it says nothing, stay as they are."""
    shares = [_share(block.words, opinion) for block in blocks]
    kept = sum(len(block.words) for block, is_kept in zip(blocks, keep, strict=True) if is_kept)
    shared = sum(
        len(block.words)
        for block, is_kept, share in zip(blocks, keep, shares, strict=True)
        if is_kept and share is not None and share >= _AGREED
    )
    if not shared or shared < _SHARED * kept:
        return
    agreed = [at for at, share in enumerate(shares) if keep[at] and share is not None and share >= _AGREED]
    for at, share in enumerate(shares):
        if share is None:
            continue
        if share >= _AGREED:
            keep[at] = keep[at] or probabilities[at] >= _LIKELY_ENOUGH
        elif not (agreed[0] < at < agreed[-1] and blocks[at].element.tag in _STRUCTURE):
            keep[at] = False


def _share(words: Sequence[str], opinion: WordPairs) -> float | None:
    """Share of a block's word pairs that the second opinion has; None for a block without a pair."""
    if len(words) < 2:
        return None
    return sum(pair in opinion for pair in itertools.pairwise(words)) / (len(words) - 1)
