"""Tick boxes of forms: the recogniser reads a drawn box beside Latin words as the Chinese character that looks like it.

Knows nothing of pictures; the characters are those that PP-OCRv6 gives for boxes drawn in several ways.
"""

EMPTY, TICKED = "☐", "☒"
_LOOK_ALIKES = {**dict.fromkeys("口囗□", EMPTY), **dict.fromkeys("冈区囚図凶网岡回", TICKED)}
HAN_FIRST, HAN_LAST = "\u4e00", "\u9fff"


def with_tick_boxes(text: str) -> str:
    """Replace look-alikes of tick boxes that are words of their own among Latin words. The text keeps its length."""
    words = text.split()
    lone = {word for word in words if word in _LOOK_ALIKES}
    if not lone or len(lone) == len(set(words)):
        return text
    rest = [letter for word in words if word not in lone for letter in word]
    if any(HAN_FIRST <= letter <= HAN_LAST for letter in rest) or not any(letter.isascii() for letter in rest):
        return text
    return "".join(
        _LOOK_ALIKES[letter] if letter in lone and _is_alone(text, at) else letter for at, letter in enumerate(text)
    )


def _is_alone(text: str, at: int) -> bool:
    return text[max(0, at - 1) : at].strip() == "" and text[at + 1 : at + 2].strip() == ""
