"""Log probabilities of large answers, kept as the JSON that they came as.

Naive form: the decoded value. Python's objects for a token and its alternatives take eight times their JSON, and they
are most of such an answer; nobody reads them but to pass them on, to see what they spell, and to cut them with their
text. So a member with their name stays JSON while the rest of an answer is decoded (`json_pieces`), and what it spells
is noted meanwhile. What is decoded is weighed: there is a limit for it. Knows no interface.
"""

import sys
from collections.abc import Iterable
from typing import Any

from gateway.long_texts import Utf8Text, text_of_utf8
from gateway.resilience.slices import all_steps
from gateway.wire.field_rules import is_plain_word
from gateway.wire.json_packing import Pack
from gateway.wire.logprobs import PackedLogprobs, Tokens, spell

NAME = "logprobs"
"""Of the members that are packed, wherever they are."""
_LINE_ENDS = b"\r\n"
_OBJECT_BYTES, _FURTHER_MEMBER_BYTES, _OBJECT_MEMBERS, _LIST_BYTES, _PLACE_BYTES, _NUMBER_BYTES = 200, 50, 5, 72, 8, 32
"""What Python holds for an object of up to five members, each further one, a list, a place in it, and a number
(measured with CPython 3.11 and orjson, collector's heads included)."""


class TooLarge(Exception):
    """The decoded values take more than `limit_bytes` of memory."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(limit_bytes)
        self.limit_bytes = limit_bytes


class LogprobsPacker:
    """Packs the log probabilities of one document, and weighs the rest of it. Implements `json_packing.Packer`.
    Long texts with one of the `utf8_names` are kept in UTF-8.

    Raises TooLarge as soon as what was decoded takes more than `limit_bytes`.
    """

    def __init__(self, limit_bytes: int, utf8_names: frozenset[str] = frozenset()) -> None:
        self._limit_bytes, self.utf8_names = limit_bytes, utf8_names
        self._need_bytes = 0

    def begin(self, name: str, *, is_list: bool) -> Pack | None:
        """What takes a member with this name instead of a list or an object; None for one that is decoded."""
        return _OpenLogprobs(is_list=is_list) if name == NAME else None

    def weigh(self, root: Any, words: dict[str, str]) -> None:
        """Count decoded members; log probabilities among them are packed. `words` are shared, and take nothing."""
        need, stack, new = 0, [root], set[str]()
        while stack:
            holder = stack.pop()
            if type(holder) is dict:
                need += _OBJECT_BYTES + _FURTHER_MEMBER_BYTES * max(0, len(holder) - _OBJECT_MEMBERS)
                members: Iterable[tuple[Any, Any]] = holder.items()
            else:
                need += _LIST_BYTES + _PLACE_BYTES * len(holder)
                members = enumerate(holder)
            for key, value in members:
                kind = type(value)
                if kind is str:
                    if key in self.utf8_names:
                        value = holder[key] = text_of_utf8(value.encode())
                        need += len(value.utf8) if isinstance(value, Utf8Text) else sys.getsizeof(value)
                    elif value not in words and value not in new:
                        new.add(value)
                        need += sys.getsizeof(value)
                elif kind is dict or kind is list:
                    if key == NAME and value:
                        holder[key] = packed = PackedLogprobs.of(value)
                        need += sum(map(sys.getsizeof, (*packed.parts, packed.spelt))) + _OBJECT_BYTES
                    else:
                        stack.append(value)
                elif kind is Utf8Text:
                    need += len(value.utf8)
                elif kind is float or (kind is int and not -6 < value < 257):
                    need += _NUMBER_BYTES
        self._need_bytes += need
        if self._need_bytes > self._limit_bytes:
            raise TooLarge(self._limit_bytes)


class _OpenLogprobs:
    """A `logprobs` member that is longer than a window, while it is read. Implements `json_packing.Pack`.

    `_levels`: (its name, what its tokens spell; None for an object) of each list and object that is open."""

    def __init__(self, *, is_list: bool) -> None:
        self._packed = PackedLogprobs([], "", names=None if is_list else ())
        self._rest = bytearray()
        self._is_run = False
        self._lines: list[str] = []
        self._levels: list[tuple[str, Tokens | None]] = []

    def keep(self, raw: bytes | bytearray) -> None:
        """Without line ends, which JSON has between values only: one would end the `data:` line of an event."""
        raw = raw.translate(None, _LINE_ENDS)
        if self._is_run:
            self._is_run = False
            self._packed.parts += (bytes(self._rest), bytes(raw))
            self._rest.clear()
            if len(self._levels) == 2 and self._levels[-1][1] is not None:
                self._packed.note_run(self._levels[-1][0])
        else:
            self._rest += raw

    def open(self, name: str, *, is_list: bool) -> None:
        if len(self._levels) == 1 and not self._packed.is_list:
            self._packed.names += (name,)
        if not is_plain_word(name):
            self._lines.append(name)
        above = self._levels[-1][1] if self._levels else None
        is_apart = name == "top_logprobs" or (above is not None and above.is_apart)
        self._levels.append((name, Tokens(is_apart=is_apart) if is_list else None))

    def add(self, members: Any, *, is_run: bool) -> None:
        self._is_run = is_run
        tokens = self._levels[-1][1]
        if tokens is None:
            if len(self._levels) == 1:
                self._packed.names += tuple(members)
            self._lines.append(all_steps(spell(members)))
            return
        rest: list[tuple[Any, bool]] = []
        for each in members:
            for _ in tokens.add(each, rest):
                pass
        self._lines += [all_steps(spell(value, is_apart=is_apart)) for value, is_apart in rest]

    def close(self) -> None:
        _, tokens = self._levels.pop()
        if tokens is not None:
            self._lines += tokens.lines()

    def end(self) -> PackedLogprobs:
        self._packed.parts.append(bytes(self._rest))
        self._packed.spelt = "\n".join(self._lines)
        return self._packed
