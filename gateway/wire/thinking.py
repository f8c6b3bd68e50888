"""The thoughts that some models write into their answers, between `<think>` and `</think>`."""

_OPEN, _CLOSE = "<think>", "</think>"


def without_thinking(text: str) -> str:
    """The text without its thoughts; one that has no end stays. Linear, which `<think>.*?</think>` is not: where there
    is no end, that searches for it again from each beginning."""
    kept, at = [], 0
    while (start := text.find(_OPEN, at)) >= 0 and (end := text.find(_CLOSE, start)) >= 0:
        kept.append(text[at:start])
        at = end + len(_CLOSE)
    return "".join((*kept, text[at:]))
