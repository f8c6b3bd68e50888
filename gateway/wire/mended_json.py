"""Decodes JSON that is right but for a character: servers cut characters in two where they cut texts.

Half a character is a run of bytes that is no UTF-8, or an escaped surrogate without its other half (`\\ud83d` of an
emoji). In a stream its rest comes with the next piece of the same text (`Halves`); one that stays alone becomes U+FFFD.
A byte-order mark is left out, and numbers that JSON does not have (`NaN`, `-Infinity`) are null. Only where the plain
decoder has failed.
"""

import json
import re
from collections.abc import Generator
from typing import Any

import orjson

_SURROGATES = re.compile(
    rb"(?<!\\)((?:\\\\|(?!))*+)\\u(?:[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|([dD][89a-fA-F][0-9a-fA-F]{2}))"
)
"""A pair of escaped surrogates, or half of one, with the escaped backslashes before it."""
_REPAIRED_BYTES, _MAX_TO_CUT = 1 << 15, 1 << 12
_BETWEEN_ESCAPES = re.compile(rb"[^\\0-9a-zA-Z]")
"""A text is repaired in pieces of _REPAIRED_BYTES and at most _MAX_TO_CUT more, cut where no escape can be.
A piece of nothing but surrogates takes 3 ms."""
MAX_BYTES = 1 << 17
"""Most bytes of a text that is mended at once."""
_HALF = re.compile("[\ud800-\udfff]")
_BEGUN = re.compile(
    "(?:[\ud800-\udbff]|[\udcc2-\udcdf]|[\udce0-\udcef][\udc80-\udcbf]?|[\udcf0-\udcf4][\udc80-\udcbf]{0,2})\\Z"
)
"""The beginning of a character at the end of a text: a high surrogate, or bytes as `surrogateescape` decodes them."""
_BYTES = re.compile("[\udc80-\udcff]+")
_MOST_HELD = 256
"""Texts of a stream that wait for the rest of a character."""
_MAX_DIGITS = 19
"""Longer integers are floats, as the plain decoder has them."""


class Halves:
    """The beginnings of characters that pieces of a stream's texts have ended with. `held`: by the place of the text,
    `.0.choices.0.delta.content`. `holds`: false where no further piece comes."""

    def __init__(self, *, holds: bool = True) -> None:
        self.held: dict[str, str] = {}
        self._holds = holds

    def mended(self, event: Any) -> Any:
        """An event with whole characters; what was held comes before the next piece of its text."""
        root = [event]
        waiting: list[tuple[Any, str]] = [(root, "")]
        while waiting:
            holder, where = waiting.pop()
            for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
                name = value.get("index", value.get("item_id", key)) if isinstance(value, dict) else key
                place = f"{where}.{name}"
                if isinstance(value, str):
                    holder[key] = self._whole(place, value)
                elif isinstance(value, dict | list):
                    waiting.append((value, place))
        return root[0]

    def _whole(self, place: str, piece: str) -> str:
        text = _paired(self.held.pop(place, "") + piece)
        if self._holds and (begun := _BEGUN.search(text)):
            if len(self.held) >= _MOST_HELD:
                self.held.clear()
            self.held[place], text = begun[0], text[: begun.start()]
        return whole_characters(text)


def whole_characters(text: str) -> str:
    """The text with U+FFFD for each half of a character: a surrogate, which no encoder takes."""
    if _HALF.search(text) is None:
        return text
    text = _BYTES.sub(lambda run: run[0].encode(errors="surrogateescape").decode(errors="replace"), _paired(text))
    return _HALF.sub("\ufffd", text)


def _paired(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def mended_json(data: bytes, halves: Halves | None = None) -> Any:
    """The value. `halves`: of the stream that has the event. Raises orjson.JSONDecodeError, the plain decoder's own."""
    try:
        value = orjson.loads(data)
        is_whole = halves is None or not halves.held
    except orjson.JSONDecodeError as error:
        value, is_whole = _lenient(data), False
        if value is None:
            raise error from None
    return value if is_whole else (halves or Halves(holds=False)).mended(value)


def _lenient(data: bytes) -> Any:
    """The value, with surrogates for halves of characters; None for what is no JSON or too large."""
    if len(data) > MAX_BYTES:
        return None
    text = data.decode("utf-8-sig", "surrogateescape")
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_int=_number, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return None


def _number(digits: str) -> float:
    return int(digits) if len(digits) < _MAX_DIGITS else float(digits)


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    return {whole_characters(name): value for name, value in members}


def without_lone_surrogates(raw: bytes) -> Generator[None, None, bytes]:
    """JSON with U+FFFD in place of each escaped half of a pair of surrogates without the other half, in steps
    (`resilience.slices`)."""
    mended = bytearray()
    start = 0
    while start < len(raw):
        end = start + _REPAIRED_BYTES
        cut = _BETWEEN_ESCAPES.search(raw, end, end + _MAX_TO_CUT)
        end = cut.start() if cut else end
        mended += _SURROGATES.sub(lambda found: found[0] if found[2] is None else found[1] + b"\\ufffd", raw[start:end])
        start = end
        yield
    return bytes(mended)
