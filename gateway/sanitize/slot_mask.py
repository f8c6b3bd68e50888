"""Masks one slot of text according to its form: plain text, a JSON document, a web address, a name that must stay.

Does not know where slots come from, nor what a refusal looks like: it reports findings to a callback.
"""

import base64
import binascii
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote, unquote_to_bytes

import orjson
import re2

from gateway.sanitize.policy import Action, ActionTable
from gateway.sanitize.restoring import Placeholders
from gateway.sanitize.scanner import Scanner
from gateway.sanitize.text import Finding, SharedAllowance, mask_of, searcher, spans
from gateway.texts import GroupSlot, TextSlot

# ----------------------------------------------------------------------------------------------------
# What scanning a text costs, and which JSON documents are not decoded.
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


# ----------------------------------------------------------------------------------------------------
# Text inside data URLs and base64 strings: read for the detectors, written back when it was masked.
#
# Naive form: decode everything and scan it. Here the first kilobyte decides whether it is text: pictures, sounds and
# archives are let be, whatever type they are declared as. Does not know where the strings come from.
_DATA_URL = re.compile(r"data:([^,;]{0,127})((?:;[^,;]{0,127}){0,8}),", re.IGNORECASE)
_BASE64 = bytes(code for code in range(128) if chr(code).isalnum() or chr(code) in "+/-_=")
_BLANKS = b" \t\r\n"
_STANDARD = bytes.maketrans(b"-_", b"+/")
_HEAD_CHARS = 1364
"""Characters of base64 that decide (1,023 bytes). Chosen: the headers of every common format hold bytes that are no
text within the first hundred; at half an embedded comment could fill it, at double small pictures cost twice."""
_HEAD_BYTES = 1024
"""Bytes of a text with percent signs that decide; chosen as the same."""
_NOT_IN_TEXT = bytes(code for code in range(32) if code not in b"\t\n\r\x0c\x1b")
_BINARY_SIGNS = (b"%PDF-",)
"""First bytes of formats whose header may be text though the rest is not."""
_MIN_BASE64_CHARS = 24
"""Chosen: a shorter string without `data:` is scanned undecoded, as words and names are base64 too. At half more words
are taken for base64; at double short texts in base64 are scanned in their encoded form alone."""
SHORT_CHARS = 1024
"""Chosen: strings of at most so many characters are scanned as they stand too, as keys are base64 by their form. At
half long keys would be taken for data; at double the smallest pictures cost a scan."""
_PIECE_CHARS = 1 << 14
"""Base64 and percent signs are read in pieces of so many characters, and percent signs written, as the library takes up
to 90 times the memory of its text. Chosen: a piece takes 1.5 MB; at half twice as many steps, at double 3 MB."""


@dataclass(slots=True)
class EncodedText:
    """A text, and how to write it back: `prefix` (`data:text/plain;base64,`) and whether base64 follows."""

    text: str
    prefix: str
    is_base64: bool

    def encoded(self, text: str) -> str:
        """The whole string with another text in it."""
        raw = text.encode("utf-8", "surrogatepass")
        if self.is_base64:
            return self.prefix + base64.b64encode(raw).decode()
        pieces = (raw[start : start + _PIECE_CHARS] for start in range(0, len(raw), _PIECE_CHARS))
        return self.prefix + "".join(quote(piece, safe="[]:,;/ ") for piece in pieces)


def is_binary(value: str) -> bool:
    """Whether a string is a data URL or base64 of something that is no text, and nothing else."""
    return _split(value) is not None and read(value) is None


def read(value: str) -> EncodedText | None:
    """The text in a data URL or base64 string; None where there is none: binary data, or a string of another form.

    There is never a copy of the whole string beside it: `value` may have tens of megabytes.
    """
    parts = _split(value)
    if parts is None:
        return None
    prefix, is_base64 = parts
    start = len(prefix)
    head = _decoded(value, start, start + _HEAD_CHARS) if is_base64 else _unquoted(value, start, start + _HEAD_CHARS)
    if not _is_text(head[:_HEAD_BYTES]):
        return None
    raw = (_decoded if is_base64 else _unquoted)(value, start, len(value))
    return EncodedText(_text(raw), prefix, is_base64)


def _split(value: str) -> tuple[str, bool] | None:
    """(the beginning up to the payload, whether that is base64); None for a string of neither form."""
    url = _DATA_URL.match(value)
    prefix = url.group() if url else ""
    is_base64 = url is None or url[2].lower().endswith(";base64")
    if url is None and len(value) < _MIN_BASE64_CHARS:
        return None
    return (prefix, is_base64) if not is_base64 or _is_base64(value, len(prefix)) else None


def _is_base64(value: str, start: int) -> bool:
    """Whether nothing but base64, of either alphabet, and blanks are behind the index `start`."""
    return not any(
        piece.encode("utf-8", "surrogatepass").translate(None, _BASE64 + _BLANKS)
        for at in range(start, len(value), _PIECE_CHARS)
        if (piece := value[at : at + _PIECE_CHARS])
    )


def _unquoted(value: str, start: int, end: int) -> bytearray:
    """What the percent signs of value[start:end] stand for: no piece is cut inside a `%41`."""
    raw, at, last = bytearray(), start, min(end, len(value))
    while at < last:
        until = min(at + _PIECE_CHARS, last)
        cut = value.rfind("%", max(at + 1, until - 2), until) if until < last else -1
        until = cut if cut > 0 else until
        raw += unquote_to_bytes(value[at:until].encode("utf-8", "surrogatepass"))
        at = until
    return raw


def _decoded(value: str, start: int, end: int, piece_chars: int = _PIECE_CHARS) -> bytearray:
    """The bytes of the base64 value[start:end] in either alphabet, with or without padding; as many as can be decoded.

    Naive form: `_whole_base64` of all of it. That is what a piece with padding, nearly always the last, is read with.
    """
    raw, rest, last = bytearray(), b"", min(end, len(value))
    for at in range(start, last, piece_chars):
        piece = rest + value[at : min(at + piece_chars, last)].encode().translate(_STANDARD, _BLANKS)
        if b"=" in piece:
            rest = rest + value[at:last].encode().translate(_STANDARD, _BLANKS)
            break
        whole = len(piece) - len(piece) % 4
        raw += binascii.a2b_base64(piece[:whole])
        rest = piece[whole:]
    raw += _whole_base64(rest)
    return raw


def _whole_base64(chars: bytes) -> bytes:
    chars = chars.rstrip(b"=")
    chars = chars[: len(chars) - (len(chars) % 4 == 1)]
    try:
        return binascii.a2b_base64(chars + b"=" * (-len(chars) % 4))
    except binascii.Error:
        return chars


def _is_text(head: bytes | bytearray) -> bool:
    if head.startswith(_BINARY_SIGNS):
        return False
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return head.translate(None, _NOT_IN_TEXT) == head and _is_nearly_utf8(head)


def _is_nearly_utf8(head: bytes | bytearray) -> bool:
    """Whether it decodes but for a character cut at its end, or is one of the old eight-bit texts."""
    broken = head.decode(errors="replace").count("\ufffd")
    return broken * 8 <= len(head)


def _text(raw: bytes | bytearray) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace")
    return raw.decode(errors="replace")


# ----------------------------------------------------------------------------------------------------
# Finds values that are split over texts which continue each other: parts of a message, messages of one answer.
#
# Theory of operation. Texts of one unit with the same `flow` are laid end to end. A model or a client joins them
# without
# a separator or with a blank one, so both are scanned. Only what no text shows alone counts: a finding that reaches
# over
# a seam, or one that begins behind it and needs a word before it. The mask stands where the value begins, the rest of
# it
# is removed. Runs before the texts are scanned one by one, which would mask half a value and let the other half pass.
#
#     text 1  …the card is 4111 11        keeps its last WINDOW_CHARS for the run
#     text 2  11 1111                     short: whole
#     text 3  1111, as you asked. …       keeps its first WINDOW_CHARS; a new run begins with its last
#
# Cost: one scan more of short texts, of two windows of long ones; texts without a flow cost nothing.
WINDOW_CHARS = 256
"""Characters on each side of a seam that are scanned, as many as a stream keeps for context (`stream_channel`). At half
long keys end outside; at double each long part costs twice."""
_REACH_CHARS = 64
"""How far behind a seam a value may begin that a word before the seam names: the detectors' own reach."""
_RUN_CHARS = 16_384
"""Chosen: the texts of a run, scanned at once (about two milliseconds). At half long lists of parts take twice
as many scans; at double a run keeps others waiting for longer."""
_STEP_SLOTS = 4_096
"""Chosen: slots that are sorted by flow in one step (about a millisecond). At half twice as many steps, at double a
step keeps others waiting for twice as long."""
_SEPARATORS = ("", " ")

Scan = Callable[[str], list[Finding]]
Act = Callable[[Finding, str, str], str | None]
"""(finding, its value, path of its slot) -> the mask over it, empty where the text ends there, None where it stays.
Reports the finding."""


_Place: TypeAlias = tuple[int, int, int]
"""(index in the run, start, end): characters of a slot's text."""


class _Segment(NamedTuple):
    """The characters [start, end) of a slot's text."""

    slot: TextSlot
    start: int
    end: int


def mask_seams(slots: Iterable[TextSlot], scan: Scan, act: Act) -> Iterator[bool]:
    """Mask, in place, the values that are split over neighbouring slots of one flow, a run of texts at a time.

    Yields after each scan and each other step whether a value was masked, so that other work may be done between two;
    take all of them.
    Raises what `scan` and `act` raise.
    """
    flows: dict[Hashable, list[TextSlot]] = {}
    for number, slot in enumerate(slots, 1):
        if slot.flow is not None:
            flows.setdefault(slot.flow, []).append(slot)
        if not number % _STEP_SLOTS:
            yield False
    for texts in flows.values():
        if len(texts) > 1:
            yield from _mask_flow(texts, scan, act)


def _mask_flow(texts: list[TextSlot], scan: Scan, act: Act) -> Iterator[bool]:
    counted: set[tuple[int, str]] = set()
    for separator in _SEPARATORS:
        runs = []
        for run in _runs(texts):
            runs.append(run)
            yield False
        for run in reversed(runs):  # from the end, as a mask moves what is behind it
            if len(run) < 2:
                continue
            for found in _split_values(run, separator, scan):
                yield False
                if found is None:
                    continue
                finding, places = found
                slot = run[places[0][0]].slot
                if (id(slot), finding.entity) in counted:
                    continue  # flagged with the other separator
                value = "".join([run[index].slot.text[low:high] for index, low, high in places])
                mask = act(finding, value, slot.where)
                if mask is not None:
                    _mask(run, places, mask)
                    yield True
                else:
                    counted.add((id(slot), finding.entity))


def _runs(texts: list[TextSlot]) -> Iterator[list[_Segment]]:
    run: list[_Segment] = []
    run_chars = 0
    for slot in texts:
        size = len(slot.text)
        run_chars += min(size, WINDOW_CHARS)
        if run_chars > _RUN_CHARS and run:
            yield run
            run, run_chars = run[-1:], 0
        if size <= 2 * WINDOW_CHARS:
            run.append(_Segment(slot, 0, size))
            continue
        yield [*run, _Segment(slot, 0, WINDOW_CHARS)]
        run = [_Segment(slot, size - WINDOW_CHARS, size)]
    yield run


def _split_values(run: list[_Segment], separator: str, scan: Scan) -> Iterator[tuple[Finding, list[_Place]] | None]:
    """The findings that no text shows alone, last first, each with its places; None after a scan without one."""
    pieces = [segment.slot.text[segment.start : segment.end] for segment in run]
    starts = [0, *accumulate(len(piece) + len(separator) for piece in pieces)]
    findings = scan(separator.join(pieces))
    yield None
    for finding in reversed(findings):
        first = bisect_right(starts, finding.start) - 1
        last = bisect_right(starts, finding.end - 1) - 1
        begin = finding.start - starts[first]
        if first == last and (first == 0 or begin > _REACH_CHARS or _stands_alone(pieces[first], begin, scan)):
            yield None
            continue
        places = []
        for index in range(first, last + 1):
            low = max(finding.start - starts[index], 0)
            high = min(finding.end - starts[index], len(pieces[index]))
            places.append((index, run[index].start + min(low, high), run[index].start + high))
        yield finding, places


def _stands_alone(piece: str, begin: int, scan: Scan) -> bool:
    return any(finding.start <= begin < finding.end for finding in scan(piece))


def _mask(run: list[_Segment], places: list[_Place], mask: str) -> None:
    """Write the mask into the first place and remove the others; without a mask the first text ends there."""
    for number, (index, low, high) in reversed(list(enumerate(places))):
        slot = run[index].slot
        text = slot.text
        slot.text = text[:low] + (mask + text[high:] if number == 0 and mask else "" if number == 0 else text[high:])


# ----------------------------------------------------------------------------------------------------
# Masks JSON documents (arguments of tool calls) in their strings, large numbers and property names; they stay JSON.
#
# Theory of operation. Naive form: each of them is scanned by itself, which takes as long as 4,000 characters of
# prose.
# Here short ones are scanned together, as lines of one text, whichever document they are in. Only those in whose line
# something is found are looked at alone, so that a string is masked as it would be by itself. That is charged to the
# request; once its allowance is spent, what was found in their lines counts. Does not know where documents come from.
ALONE_UNITS = 270
"""What it costs to look at a string by itself that was scanned with others: about 80 µs, measured (20,000 names that
are secrets: 2 s before this was charged)."""
_MIN_NUMBER = 100_000_000
"""Chosen: integers of fewer than nine digits are not scanned. Only telephone and id numbers behind their name are
shorter, and counts, years and times would cost a scan each. Two digits fewer: such numbers are found too, at the cost
of these scans; two digits more: US social security numbers as integers pass."""
_MAX_DEPTH = 100
"""Chosen: deeper documents are scanned as plain text. At half odd but honest documents lose the meaning of their keys;
at double a document of brackets takes twice as long."""
_SHORT_CHARS, _GROUP_CHARS = 128, 4_096
"""Longer strings are scanned alone; and characters that are scanned together. As in `wire.field_rules`."""
_FEW = 2
"""So few strings are scanned one by one. Chosen: one in which something is found would be scanned twice."""


class TooDeep(Exception):
    """The document is nested deeper than _MAX_DEPTH."""


class _Leaf(NamedTuple):
    """A text of a document: a string, a number or a property name. `where`: the path of what holds it."""

    holder: Any
    key: Any
    text: str
    name: str
    where: str
    is_name: bool

    @property
    def path(self) -> str:
        """For reports."""
        if self.is_name:
            return f"{self.where}: a key"
        if type(self.holder) is list:
            return self.where
        return f"{self.where}.{self.key if self.key.isidentifier() else '*'}"


class DocumentsSlot(GroupSlot):
    """Short JSON documents of a body that are masked together."""

    __slots__ = ()


def together(slots: Iterable[TextSlot]) -> Iterator[TextSlot]:
    """The slots, with neighbouring short JSON documents in one."""
    waiting: list[TextSlot] = []
    size = 0
    for slot in slots:
        chars = len(slot.text) if slot.form == "json" else _GROUP_CHARS
        if waiting and (chars >= _GROUP_CHARS or size + chars > _GROUP_CHARS):
            yield waiting[0] if len(waiting) == 1 else DocumentsSlot.of(waiting)
            waiting, size = [], 0
        if chars >= _GROUP_CHARS:
            yield slot
        else:
            waiting.append(slot)
            size += chars
    if waiting:
        yield waiting[0] if len(waiting) == 1 else DocumentsSlot.of(waiting)


def is_json(raw: bytes) -> bool:
    """Whether a short text is a JSON document, and surely not too deep."""
    try:
        orjson.loads(raw)
    except orjson.JSONDecodeError:
        return False
    return raw.count(b"[") + raw.count(b"{") <= _MAX_DEPTH


class _Group:
    """Leaves that are scanned together, each with the number of its document. `size`: their characters."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.leaves: list[tuple[int, _Leaf]] = []
        self.size = 0

    def add(self, number: int, leaf: _Leaf) -> None:
        self.leaves.append((number, leaf))
        self.size += len(leaf.text) + len(leaf.name) + 3


class _Changes:
    """What was masked. `documents`: the numbers of those that have changed. Names wait, as an object may still be
    read."""

    def __init__(self) -> None:
        self.documents: set[int] = set()
        self._renamed: dict[int, tuple[dict[str, Any], dict[str, str]]] = {}

    def write(self, number: int, leaf: _Leaf, cleaned: str) -> None:
        if cleaned == leaf.text:
            return
        self.documents.add(number)
        if leaf.is_name:
            self._renamed.setdefault(id(leaf.holder), (leaf.holder, {}))[1][leaf.key] = cleaned
        else:
            leaf.holder[leaf.key] = cleaned

    def rename(self) -> None:
        """Give the names. The order of an object's members stays."""
        for holder, names in self._renamed.values():
            members = [(names.get(key, key), value) for key, value in holder.items()]
            holder.clear()
            holder.update(members)


class JsonDocuments:
    """Masks documents. `scan` gives the findings in a text, `prefix` what is put before a value for its name,
    `clean` masks a text with a name and a path, `mask` one whose findings are known."""

    def __init__(
        self,
        scan: Callable[[str], list[Finding]],
        prefix: Callable[[str], str],
        clean: Callable[[str, str, str], str],
        mask: Callable[[str, list[Finding], str], str],
        allowance: SharedAllowance | None,
    ) -> None:
        self._scan, self._prefix, self._clean, self._mask = scan, prefix, clean, mask
        self._allowance = allowance

    def cleaned(self, documents: Iterable[tuple[bytes, str]]) -> list[bytes | None]:
        """The documents, each with its path, as masked; None for those in which nothing is. Raises
        orjson.JSONDecodeError and TooDeep, maybe after something was reported."""
        roots = [([orjson.loads(raw)], where) for raw, where in documents]
        changes = _Changes()
        values, names = _Group(), _Group()  # apart: among many values to be masked, all beside them is
        for number, (root, where) in enumerate(roots):
            for leaf in _leaves(root, where):
                if len(leaf.text) > _SHORT_CHARS:
                    changes.write(number, leaf, self._clean(leaf.text, leaf.name, leaf.path))
                    continue
                group = names if leaf.is_name else values
                group.add(number, leaf)
                if group.size > _GROUP_CHARS:
                    self._clean_group(group, changes)
        self._clean_group(names, changes)
        self._clean_group(values, changes)
        changes.rename()
        return [orjson.dumps(root[0]) if number in changes.documents else None
                for number, (root, _) in enumerate(roots)]  # fmt: skip

    def _clean_group(self, group: "_Group", changes: "_Changes") -> None:
        if len(group.leaves) <= _FEW:
            for number, leaf in group.leaves:
                changes.write(number, leaf, self._clean(leaf.text, leaf.name, leaf.path))
        else:
            for index, findings in self._found(group).items():
                number, leaf = group.leaves[index]
                changes.write(number, leaf, self._cleaned_leaf(leaf, findings))
        group.clear()

    def _found(self, group: "_Group") -> dict[int, list[Finding]]:
        """What was found in the lines of a group, by the place of their leaf, in the offsets of its text."""
        leaves = [leaf for _, leaf in group.leaves]
        names = [self._prefix(leaf.name) for leaf in leaves]
        lines = [name + leaf.text for name, leaf in zip(names, leaves, strict=True)]
        found: dict[int, list[Finding]] = {}
        starts = [0, *accumulate(len(line) + 1 for line in lines)]
        for finding in self._scan("\n".join(lines)):
            first = bisect_right(starts, finding.start) - 1
            for index in range(first, min(bisect_left(starts, finding.end), len(leaves))):
                begin = starts[index] + len(names[index])
                start, end = max(finding.start - begin, 0), min(finding.end - begin, len(leaves[index].text))
                if start < end:
                    found.setdefault(index, []).append(finding._replace(start=start, end=end))
        return dict(sorted(found.items()))

    def _cleaned_leaf(self, leaf: _Leaf, findings: list[Finding]) -> str:
        if self._allowance is not None:
            if self._allowance.left <= 0:
                return self._mask(leaf.text, findings, leaf.path)
            self._allowance.left -= ALONE_UNITS
        return self._clean(leaf.text, leaf.name, leaf.path)


def _leaves(root: list[Any], where: str) -> Iterator[_Leaf]:
    """The texts of a document, in order; a value may be replaced meanwhile. Raises TooDeep."""
    stack: list[tuple[Any, str, str, Iterator[tuple[Any, Any]]]] = [(root, "", where, iter(enumerate(root)))]
    while stack:
        holder, list_name, path, members = stack[-1]
        is_object = type(holder) is dict
        for key, value in members:
            name = key if is_object else list_name
            if is_object:
                yield _Leaf(holder, key, key, "", path, is_name=True)
            kind = type(value)
            if kind is str:
                yield _Leaf(holder, key, value, name, path, is_name=False)
            elif kind is int and abs(value) >= _MIN_NUMBER:
                yield _Leaf(holder, key, str(value), name, path, is_name=False)
            elif kind is dict or kind is list:
                if len(stack) > _MAX_DEPTH:
                    raise TooDeep
                below = f"{path}.{key if key.isidentifier() else '*'}" if is_object else path
                stack.append((value, name, below, iter(value.items() if kind is dict else enumerate(value))))
                break
        else:
            stack.pop()


Kept: TypeAlias = tuple[int, int, str]
"""(start, end, mask): the characters [start, end) of a text stay, and the mask stands behind them."""
Note = Callable[[str, Action, str], None]
"""Called for each finding whose action is not `off`: (entity, action, path of the slot)."""

_PLAIN_KEYS = frozenset(
    ("text", "content", "query", "title", "raw_content", "url", "description", "input", "output", "arguments", "error")
)
"""Keys of common fields that say nothing about their value; any other key is scanned before the value, as its name."""
_MASKING = ("redact", "replace")
_MIN_NAMED_CHARS = 4
"""Shorter values are scanned without their name, since no name makes a secret or a number of them
(`detectors.secret_values`). Chosen: in an object of free names each name was scanned twice for values of one letter."""


@dataclass(slots=True)
class Masks:
    """What stands over the values of one request. `placeholders`: None where `replace` means redact. `found`: the
    values that were masked, with their findings, which are the same values wherever else they stand in the request."""

    placeholders: Placeholders | None = None
    found: dict[str, Finding] = field(default_factory=dict)

    def over(self, finding: Finding, value: str, action: Action) -> str:
        """The mask over a value."""
        if len(value) >= _MIN_KNOWN_CHARS and len(self.found) < _MAX_KNOWN and not value.startswith("["):
            self.found.setdefault(value, finding)
        if action == "replace" and self.placeholders is not None:
            return self.placeholders.mask(finding.entity, value)
        return mask_of(finding.entity)


_MIN_KNOWN_CHARS, _MAX_KNOWN = 6, 256
"""A shorter value is a word or number that stands elsewhere too; and values that are looked for in one request."""


class KnownValues:
    """Finds values that are known, as a Scanner finds those that look like one: whole words, wherever they stand."""

    def __init__(self, found: Mapping[str, Finding]) -> None:
        self._found = found
        self._values = sorted(found, key=len, reverse=True)
        forms = b"|".join(re2.escape(value.encode("utf-8", "surrogatepass")) for value in self._values)
        self._search = searcher(re2.compile(forms or b"[^\\s\\S]"))

    def scan(self, text: str, allowance: SharedAllowance | None = None) -> list[Finding]:
        """The findings in a text, in order, disjoint."""
        findings: list[Finding] = []
        raw = text.encode("utf-8", "surrogatepass")
        there = {raw[start:end] for start, end in spans(self._search, raw)}
        for value in self._values if there else ():
            known = self._found[value]
            at = text.find(value) if value.encode("utf-8", "surrogatepass") in there else -1
            while at >= 0:
                end = at + len(value)
                is_whole = not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum()
                if is_whole and not any(each.start < end and at < each.end for each in findings):
                    findings.append(Finding(at, end, known.entity, known.certain))
                at = text.find(value, end)
        return sorted(findings)

    def scan_parts(self, text: str, allowance: SharedAllowance | None, prefix: str = "") -> Iterator[list[Finding]]:
        """As `Scanner.scan_parts`."""
        yield self.scan(text)

    def scan_url(self, url: str) -> list[Finding]:
        """As `Scanner.scan_url`."""
        return [each for each in self.scan(url) if each.entity == "SECRET"]


class SlotMasker:
    """Masks slots by a table of actions; reports findings to `note`.

    `allowance` is that of the request that the slots belong to; None for texts of a stream. `masks`: what stands over
    the values.
    """

    def __init__(
        self,
        scanner: Scanner | KnownValues,
        actions: ActionTable,
        note: Note,
        allowance: SharedAllowance | None = None,
        masks: Masks | None = None,
    ) -> None:
        self._scanner, self._actions, self._note = scanner, actions, note
        self._allowance = allowance
        self._masks = masks or Masks()

    def clean(self, slot: TextSlot) -> bool:
        """Mask a slot in place; it is written only if its text changes. Returns whether it did.

        Raises what `note` and the detectors raise.
        """
        return any(list(self.steps(slot)))

    def steps(self, slot: TextSlot) -> Iterator[bool]:
        """As `clean`, in steps of about a scan each: whether a text has changed in one. Take all of them."""
        if isinstance(slot, DocumentsSlot):
            yield self._clean_documents(slot.members)
        elif isinstance(slot, GroupSlot):
            yield from self._group_steps(slot.members)
        else:
            yield self._clean_one(slot)

    def _clean_one(self, slot: TextSlot) -> bool:
        text = slot.text
        if slot.form == "url":
            cleaned = self._clean_url(text, slot.where)
        elif slot.form == "json":
            cleaned = self._clean_json(text, slot.where)
        elif slot.form == "name":
            cleaned = self._check_name(text, slot.where)
        elif slot.form == "data":
            cleaned = self._clean_data(text, slot)
        else:
            cleaned = self._clean_text(text, _name_of(slot), slot.where)
        if cleaned == text:
            return False
        slot.text = cleaned
        return True

    def clean_seams(self, slots: Iterable[TextSlot]) -> bool:
        """Mask values that are split over texts of one flow; returns whether there was one. Call it before `clean`.

        Raises what `clean` raises.
        """
        return any(list(self.seam_steps(slots)))

    def seam_steps(self, slots: Iterable[TextSlot]) -> Iterator[bool]:
        """As `clean_seams` in steps of a scan each; take all of them."""
        return mask_seams(slots, self._scan, self._act_on_split)

    def _act_on_split(self, finding: Finding, value: str, where: str) -> str | None:
        action = self._report(finding, where)
        if action == "block":
            return ""
        return self._masks.over(finding, value, action) if action in _MASKING else None

    def _scan(self, text: str) -> list[Finding]:
        return self._scanner.scan(text, self._allowance)

    def _group_steps(self, members: list[TextSlot]) -> Iterator[bool]:
        """Scan short strings as the lines of one text, then clean those alone in whose lines something is found.

        That is charged to the request's allowance. Once it is spent, what was found beside the other lines counts.
        """
        texts = [slot.text for slot in members]
        names = [
            "" if slot.form == "name" or len(text) < _MIN_NAMED_CHARS else _prefix(_name_of(slot))
            for slot, text in zip(members, texts, strict=True)
        ]
        lines = [name + text for name, text in zip(names, texts, strict=True)]
        findings = self._scan("\n".join(lines))
        yield False
        if not findings:
            return
        starts = [0, *accumulate(len(line) + 1 for line in lines)]
        touched: dict[int, list[Finding]] = {}
        for finding in findings:
            first = bisect_right(starts, finding.start) - 1
            if finding.end > starts[first] + len(names[first]):  # else it is in the name alone, which has its own slot
                for index in range(first, min(bisect_left(starts, finding.end), len(members))):
                    touched.setdefault(index, []).append(finding)
        for index in sorted(touched):
            slot = members[index]
            if self._allowance is None or self._allowance.left > 0:
                if self._allowance is not None:
                    self._allowance.left -= ALONE_UNITS
                yield self._clean_one(slot)
            else:
                shift = starts[index] + len(names[index])
                size = len(slot.text)
                inside = [each._replace(start=max(0, each.start - shift), end=min(size, each.end - shift))
                          for each in touched[index]
                          if slot.form != "name" or shift <= each.start < each.end <= shift + size]  # fmt: skip
                yield self._mask_found(slot, [each for each in inside if each.start < each.end])

    def _mask_found(self, slot: TextSlot, findings: list[Finding]) -> bool:
        """Mask a short string by findings that are known; returns whether it changed."""
        text = slot.text
        if slot.form == "name":
            self._report_name(findings, slot.where)
            return False
        cleaned = self._mask_known(text, findings, slot.where)
        if cleaned != text:
            slot.text = cleaned
        return cleaned != text

    def _check_name(self, text: str, where: str) -> str:
        """A name that other parts of the request refer to: what would be redacted in it is reported as `block`."""
        encoded = read(text) if text[:5].lower() == "data:" else None
        inner = encoded.text if encoded is not None else ""
        self._report_name((*self._scan(text), *(self._scan(inner) if inner else ())), where)
        return text

    def _report_name(self, findings: Iterable[Finding], where: str) -> None:
        for finding in findings:
            if not finding.certain or isinstance(self._scanner, KnownValues):
                continue  # `call_…` and `Password2` are names; what refuses a request must be proved
            action = self._actions.action(finding.entity, finding.certain)
            if action != "off":
                self._note(finding.entity, "block" if action in _MASKING else action, where)

    def _clean_data(self, text: str, slot: TextSlot) -> str:
        """A data URL or base64: the text in it is masked, binary data stays, any other string is plain text."""
        encoded = read(text)
        if encoded is not None:
            cleaned = self._clean_text(encoded.text, "", slot.where)
            if cleaned != encoded.text:
                return encoded.encoded(cleaned)
        is_data = encoded is not None or is_binary(text)
        return text if is_data and len(text) > SHORT_CHARS else self._clean_text(text, slot.name, slot.where)

    def _clean_text(self, text: str, name: str, where: str) -> str:
        """`name` is the key of the value, scanned as `name: text`: `{"password": …}` names a secret. A text with a
        blocked finding is cut before it."""
        return _joined(text, self._around(text, self._scanner.scan_parts(text, self._allowance, _prefix(name)), where))

    def _around(self, text: str, found: Iterable[list[Finding]], where: str) -> Iterator[Kept]:
        """What stays of a text around its findings; all of it where nothing is masked in it."""
        at, end = 0, len(text)
        for findings in found:
            for finding in findings:
                start, action = finding.start, self._report(finding, where)
                if action == "block":
                    end = min(end, start)
                elif action in _MASKING and start < end:
                    yield at, start, self._masks.over(finding, text[start : finding.end], action)
                    at = finding.end
        yield at, end, ""

    def _report(self, finding: Finding, where: str) -> Action:
        action = self._actions.action(finding.entity, finding.certain)
        if action != "off":
            self._note(finding.entity, action, where)
        return action

    def _clean_url(self, url: str, where: str) -> str:
        findings = [each for each in self._scanner.scan_url(url) if self._report(each, where) in _MASKING]
        for finding in reversed(findings):
            mask = mask_of(finding.entity).replace("[", "%5B").replace("]", "%5D")
            url = url[: finding.start] + mask + url[finding.end :]
        return url

    def _clean_json(self, text: str, where: str) -> str:
        if has_many_values(text):
            return self._clean_text(text, "", where)
        try:
            cleaned = self._documents.cleaned([(text.encode("utf-8", "surrogatepass"), where)])[0]
        except (orjson.JSONDecodeError, TooDeep):
            return self._clean_text(text, "", where)
        return text if cleaned is None else cleaned.decode()

    def _clean_documents(self, slots: list[TextSlot]) -> bool:
        """Mask short JSON documents together; one by one if one of them is none."""
        texts = [slot.text for slot in slots]
        raws = [(text.encode("utf-8", "surrogatepass"), slot.where) for text, slot in zip(texts, slots, strict=True)]
        if any(not is_json(raw) for raw, _ in raws):
            return any([self._clean_one(slot) for slot in slots])  # noqa: C419  every one is to be cleaned
        masked = self._documents.cleaned(raws)
        for slot, cleaned in zip(slots, masked, strict=True):
            if cleaned is not None:
                slot.text = cleaned.decode()
        return any(masked)

    @cached_property
    def _documents(self) -> JsonDocuments:
        return JsonDocuments(self._scan, _prefix, self._clean_text, self._mask_known, self._allowance)

    def _mask_known(self, text: str, findings: list[Finding], where: str) -> str:
        return _joined(text, self._around(text, [findings], where))


def _joined(text: str, kept: Iterable[Kept]) -> str:
    return "".join([text[start:end] + mask for start, end, mask in kept])


def _name_of(slot: TextSlot) -> str:
    return slot.name or (slot.key if isinstance(slot.key, str) else "")


def _prefix(name: str) -> str:
    """The text put before a value for its scan."""
    return "" if not name or name in _PLAIN_KEYS else f"{name}: "
