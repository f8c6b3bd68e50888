"""What scanning a text costs, and which JSON documents are not decoded."""

from gateway.texts import TextSlot

IN_THREAD_CHARS = 16_384
"""Longer texts are scanned in a thread: a scan of this length holds the event loop for at most 5 ms."""
_CHARS_A_LEAF = 64
"""What one string of a JSON document counts as, beside its characters (measured: about 15 µs)."""
_MAX_VALUES = 50_000
"""JSON documents of more commas and brackets are scanned as plain text (decoding so many takes 5 ms)."""


def has_many_values(text: str) -> bool:
    """Whether a JSON document is scanned as plain text."""
    return sum(map(text.count, ",[{")) > _MAX_VALUES


def weight_of(slot: TextSlot) -> int:
    """What scanning a slot costs at once, in characters of prose; a group is scanned in steps."""
    if slot.form == "group":
        return 0
    text = slot.text
    return len(text) + (_CHARS_A_LEAF // 2 * text.count('"') if slot.form == "json" else 0)
