"""Texts in the pieces in which a network may bring them."""


def pieces_of(text: str, size: int) -> list[str]:
    """The pieces have `size` characters each, the last one what is left."""
    return [text[start : start + size] for start in range(0, len(text), size)]
