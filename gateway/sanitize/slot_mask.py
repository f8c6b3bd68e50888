"""Masks one slot of text according to its form: plain text, a JSON document, a web address, a name that must stay.

Also groups of short strings, and values that are split over texts which continue each other. This module does not know
where slots come from, nor what a refusal looks like: it reports findings to a callback.
"""

import base64
import binascii
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote_from_bytes, unquote_to_bytes

import orjson
import re2

from gateway.sanitize.findings import Finding, mask_of
from gateway.sanitize.policy import Action, ActionTable
from gateway.sanitize.re2_search import searcher, spans
from gateway.sanitize.restoring import Placeholders
from gateway.sanitize.scanner import Joined, Scanner
from gateway.sanitize.work_budget import SharedAllowance
from gateway.texts import GroupSlot, TextSlot

IN_THREAD_CHARS = 16_384
"""Longer texts are scanned in a thread: a scan of this length holds the event loop for at most 5 ms."""
_CHARS_A_LEAF = 64
"""What one string of a JSON document counts as, beside its characters (measured: about 15 µs)."""
_MAX_VALUES = 50_000
"""JSON documents of more commas and brackets are scanned as plain text (decoding so many takes 5 ms)."""
_ALONE_UNITS = 270
"""What it costs to look at a string by itself that was scanned with others: about 80 µs, measured (20,000 names that
are secrets: 2 s before this was charged)."""


def weight_of(slot: TextSlot) -> int:
    """What scanning a slot costs at once, in characters of prose; a group is scanned in steps."""
    if slot.form == "group":
        return 0
    text = slot.text
    return len(text) + (_CHARS_A_LEAF // 2 * text.count('"') if slot.form == "json" else 0)


# ----------------------------------------------------------------------------------------------------
# Text inside data URLs and base64 strings: read for the detectors, written back when it was masked. The first kilobyte
# decides whether it is text: pictures, sounds and archives are let be, whatever type they are declared as.
_DATA_URL = re.compile(r"data:([^,;]{0,127})((?:;[^,;]{0,127}){0,8}),", re.IGNORECASE)
_BASE64 = bytes(code for code in range(128) if chr(code).isalnum() or chr(code) in "+/-_=")
_BLANKS = b"\t\r\n"
_STANDARD = bytes.maketrans(b"-_", b"+/")
_HEAD_CHARS, _HEAD_BYTES = 1_364, 1_024
"""Characters of base64, and bytes, that decide: the headers of every common format hold bytes that are no text within
the first hundred."""
_NOT_IN_TEXT = bytes(code for code in range(32) if code not in b"\t\n\r\x0c\x1b")
_MIN_BASE64_CHARS = 24
"""A shorter string without `data:` is scanned undecoded, as words and names are base64 too."""
_SHORT_DATA_CHARS = 1_024
"""Strings of at most so many characters are scanned as they stand too, as keys are base64 by their form."""
_PIECE_CHARS = 1 << 14
"""Characters that are checked, and whose percent signs are read or written, at once: the library takes up to 90 times
the memory of its text."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(slots=True)
class EncodedText:
    """What a data URL or base64 string holds: `text`, None for binary data. `prefix`: `data:text/plain;base64,`."""

    text: str | None
    prefix: str
    is_base64: bool

    def encoded(self, text: str) -> str:
        """The whole string with another text in it."""
        raw = text.encode("utf-8", "surrogatepass")
        if self.is_base64:
            return self.prefix + base64.b64encode(raw).decode()
        pieces = (raw[at : at + _PIECE_CHARS] for at in range(0, len(raw), _PIECE_CHARS))
        return self.prefix + "".join(quote_from_bytes(piece, "[]:,;/ ") for piece in pieces)


def read(value: str) -> EncodedText | None:
    """The content of a data URL or base64 string; None for a string of another form."""
    url = _DATA_URL.match(value)
    prefix = url.group() if url else ""
    is_base64 = url is None or url[2].lower().endswith(";base64")
    if url is None and len(value) < _MIN_BASE64_CHARS:
        return None
    start = len(prefix)
    if is_base64 and not _is_base64(value, start):
        return None
    decode = _from_base64 if is_base64 else _unquoted
    if not _is_text(decode(value[start : start + _HEAD_CHARS])[:_HEAD_BYTES]):
        return EncodedText(None, prefix, is_base64)
    raw = decode(value[start:])
    return EncodedText(raw.decode("utf-16" if raw.startswith(_UTF16) else "utf-8", "replace"), prefix, is_base64)


def _is_base64(value: str, start: int) -> bool:
    """Whether nothing but base64 of either alphabet and line ends are behind `start`; never copies a whole picture."""
    return not any(
        value[at : at + _PIECE_CHARS].encode("utf-8", "surrogatepass").translate(None, _BASE64 + _BLANKS)
        for at in range(start, len(value), _PIECE_CHARS)
    )


def _unquoted(value: str) -> bytes:
    """What percent signs stand for: no piece is cut inside a `%41`."""
    raw, at, size = bytearray(), 0, len(value)
    while at < size:
        until = min(at + _PIECE_CHARS, size)
        cut = value.rfind("%", max(at + 1, until - 2), until) if until < size else -1
        until = cut if cut > 0 else until
        raw += unquote_to_bytes(value[at:until].encode("utf-8", "surrogatepass"))
        at = until
    return bytes(raw)


def _from_base64(value: str) -> bytes:
    """As many bytes as can be decoded, in either alphabet, with or without padding."""
    chars = value.encode().translate(_STANDARD, _BLANKS).rstrip(b"=")
    chars = chars[: len(chars) - (len(chars) % 4 == 1)]
    try:
        return binascii.a2b_base64(chars + b"=" * (-len(chars) % 4))
    except binascii.Error:
        return chars


def _is_text(head: bytes) -> bool:
    """Whether bytes are text, in UTF-8 but for a character cut at the end, in UTF-16 or in an old eight-bit code."""
    if head.startswith(b"%PDF-"):
        return False
    if head.startswith(_UTF16):
        return True
    broken = head.decode(errors="replace").count("\ufffd")
    return head.translate(None, _NOT_IN_TEXT) == head and broken * 8 <= len(head)


# ----------------------------------------------------------------------------------------------------
# Finds values that are split over texts which continue each other: parts of a message, messages of one answer.
#
#     text 1  …the card is 4111 11        keeps its last _WINDOW_CHARS for the run
#     text 2  11 1111                     short: whole
#     text 3  1111, as you asked. …       keeps its first _WINDOW_CHARS; a new run begins with its last
#
# Texts of one unit with the same `flow` are laid end to end. A model or a client joins them without a separator or with
# a blank one, so both are scanned. Only what no text shows alone counts: a finding that reaches over a seam, or one
# that begins behind it and needs a word before it. The mask stands where the value begins, the rest of it is removed.
# Runs before the texts are scanned one by one, which would mask half a value and let the other half pass.
_WINDOW_CHARS = 256
"""Characters on each side of a seam that are scanned, as many as a stream keeps for context."""
_REACH_CHARS = 64
"""How far behind a seam a value may begin that a word before the seam names: the detectors' own reach."""
_RUN_CHARS = 16_384
"""The texts of a run, scanned at once (about two milliseconds)."""

Scan = Callable[[str], list[Finding]]
Act = Callable[[Finding, str, str], str | None]
"""(finding, its value, path of its slot) -> the mask over it, empty where the text ends there, None where it stays.
Reports the finding."""


class _Part(NamedTuple):
    """The characters [start, end) of a slot's text."""

    slot: TextSlot
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.slot.text[self.start : self.end]


def mask_seams(slots: Iterable[TextSlot], scan: Scan, act: Act) -> Iterator[bool]:
    """Mask, in place, the values that are split over neighbouring slots of one flow, a run of texts at a time.

    Yields after each step whether a value was masked, so that other work may be done between two; take all of them.
    Raises what `scan` and `act` raise.
    """
    flows: dict[Hashable, list[TextSlot]] = {}
    for slot in slots:
        if slot.flow is not None:
            flows.setdefault(slot.flow, []).append(slot)
    for texts in flows.values():
        seen: set[tuple[int, str]] = set()
        for separator in ("", " "):
            for run in reversed([*_runs(texts)]):  # from the end, as a mask moves what is behind it
                for finding, parts in _split_values(run, separator, scan):
                    yield False
                    slot = parts[0].slot
                    if (id(slot), finding.entity) in seen:
                        continue  # flagged with the other separator
                    mask = act(finding, "".join([part.text for part in parts]), slot.where)
                    if mask is None:
                        seen.add((id(slot), finding.entity))
                    else:
                        _write_mask(parts, mask)
                        yield True
                yield False


def _runs(texts: list[TextSlot]) -> Iterator[list[_Part]]:
    run: list[_Part] = []
    run_chars = 0
    for slot in texts:
        size = len(slot.text)
        run_chars += min(size, _WINDOW_CHARS)
        if run_chars > _RUN_CHARS and run:
            yield run
            run, run_chars = run[-1:], 0
        if size <= 2 * _WINDOW_CHARS:
            run.append(_Part(slot, 0, size))
            continue
        yield [*run, _Part(slot, 0, _WINDOW_CHARS)]
        run = [_Part(slot, size - _WINDOW_CHARS, size)]
    yield run


def _split_values(run: list[_Part], separator: str, scan: Scan) -> Iterator[tuple[Finding, list[_Part]]]:
    """The findings that no text shows alone, last first, each with the parts of texts that it covers."""
    if len(run) < 2:
        return
    joined = Joined([part.text for part in run], separator)
    for finding in reversed(scan(joined.text)):
        touched = [*joined.touched(finding.start, finding.end)]
        first, low, _ = touched[0]
        if len(touched) == 1 and (first == 0 or low > _REACH_CHARS or _stands_alone(run[first].text, low, scan)):
            continue
        yield finding, [_Part(run[n].slot, run[n].start + low, run[n].start + high) for n, low, high in touched]


def _stands_alone(text: str, begin: int, scan: Scan) -> bool:
    return any(finding.start <= begin < finding.end for finding in scan(text))


def _write_mask(parts: list[_Part], mask: str) -> None:
    """Write the mask into the first part and remove the others; without a mask the first text ends there."""
    for number, (slot, low, high) in reversed([*enumerate(parts)]):
        text = slot.text
        behind = text[high:] if mask or number else ""
        slot.text = text[:low] + (mask if number == 0 else "") + behind


# ----------------------------------------------------------------------------------------------------
# JSON documents (arguments of tool calls) are masked in their strings, large numbers and property names; they stay
# JSON. Short texts of a document are scanned together, as a group of slots.
_MIN_NUMBER = 100_000_000
"""Integers of fewer than nine digits are not scanned: counts, years and times would cost a scan each."""
_MAX_DEPTH = 100
"""Deeper documents are scanned as plain text."""
_SHORT_CHARS, _GROUP_CHARS = 128, 4_096
"""Longer strings are scanned alone; and characters that are scanned together. As in `wire.field_rules`."""


class _TooDeep(Exception):
    """The document is nested deeper than _MAX_DEPTH."""


class _Document:
    """A JSON document as slots: `values` are its strings and large numbers, `names` those of the properties.

    Names and numbers are masked in lists of their own, and written back by `encoded`.
    """

    def __init__(self, text: str, where: str) -> None:
        """Raises orjson.JSONDecodeError and _TooDeep."""
        self._root = [orjson.loads(text)]
        self.values: list[TextSlot] = []
        self.names: list[TextSlot] = []
        self._objects: list[tuple[dict[str, Any], list[str]]] = []
        self._numbers: list[tuple[Any, Any, list[str]]] = []
        self._read(self._root, "", where, 0)

    def _read(self, holder: Any, list_name: str, where: str, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise _TooDeep
        is_object = type(holder) is dict
        members: Iterable[tuple[Any, Any]] = holder.items() if is_object else enumerate(holder)
        if is_object:
            names = list(holder)
            self._objects.append((holder, names))
            self.names += [TextSlot(names, index, f"{where}: a key") for index in range(len(names))]
        for key, value in members:
            kind, name, path = type(value), key if is_object else list_name, where
            if is_object:
                path = f"{where}.{key if key.isidentifier() else '*'}"
            if kind is str:
                self.values.append(TextSlot(holder, key, path, name=name))
            elif kind is int and abs(value) >= _MIN_NUMBER:
                digits = [str(value)]
                self._numbers.append((holder, key, digits))
                self.values.append(TextSlot(digits, 0, path, name=name))
            elif kind is dict or kind is list:
                self._read(value, name, path, depth + 1)

    def groups(self) -> Iterator[TextSlot]:
        """The slots, the short ones in groups; names apart: among many values to be masked, all beside them is."""
        for slots in (self.values, self.names):
            short, size = list[TextSlot](), 0
            for slot in slots:
                if len(slot.text) > _SHORT_CHARS:
                    yield slot
                    continue
                short.append(slot)
                size += len(slot.text) + len(slot.name) + 3
                if size > _GROUP_CHARS:
                    yield GroupSlot.of(short)
                    short, size = [], 0
            if short:
                yield GroupSlot.of(short)

    def encoded(self) -> str:
        """The document with what was masked in it. The order of an object's members stays."""
        for holder, key, digits in self._numbers:
            if digits[0] != str(holder[key]):
                holder[key] = digits[0]
        for each, names in self._objects:
            if names != [*each]:
                members = [*zip(names, each.values(), strict=True)]
                each.clear()
                each.update(members)
        return orjson.dumps(self._root[0]).decode()


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
(`detectors.value_forms`). In an object of free names each name was scanned twice for values of one letter."""


@dataclass(slots=True)
class Masks:
    """What stands over the values of one request. `placeholders`: None where `replace` means redact. `found`: the
    values that were masked, with their findings, which are the same values wherever else they stand in the request.
    `names_allowance`: what the names in the request may spend, whatever its texts have spent."""

    placeholders: Placeholders | None = None
    found: dict[str, Finding] = field(default_factory=dict)
    names_allowance: SharedAllowance = field(default_factory=SharedAllowance)

    def know(self, values: Mapping[str, str]) -> None:
        """Look for the values of turns before this one, `{SECRET_1: value}`, wherever they stand."""
        secrets_first = sorted(values.items(), key=lambda each: not each[0].startswith("SECRET"))
        for name, value in secrets_first:
            if len(value) >= _MIN_KNOWN_CHARS and len(self.found) < _MAX_KNOWN:
                self.found.setdefault(value, Finding(0, len(value), name.rpartition("_")[0], certain=True))

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
        if isinstance(slot, GroupSlot):
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
        names = [
            "" if slot.form == "name" or len(slot.text) < _MIN_NAMED_CHARS else _prefix(_name_of(slot))
            for slot in members
        ]
        joined = Joined([name + slot.text for name, slot in zip(names, members, strict=True)], "\n")
        touched: dict[int, list[Finding]] = {}
        for finding in self._scan(joined.text):
            for index, low, high in joined.touched(finding.start, finding.end):
                inside = finding._replace(start=max(low - len(names[index]), 0), end=high - len(names[index]))
                if inside.start < inside.end:  # else it is in the name alone, which has its own slot
                    touched.setdefault(index, []).append(inside)
        yield False
        for index in sorted(touched):
            slot, text = members[index], members[index].text
            if slot.form == "name" or self._allowance is None or self._allowance.left > 0:
                if self._allowance is not None:
                    self._allowance.left -= _ALONE_UNITS
                yield self._clean_one(slot)
            else:
                cleaned = _joined(text, self._around(text, [touched[index]], slot.where))
                if cleaned != text:
                    slot.text = cleaned
                yield cleaned != text

    def _check_name(self, text: str, where: str) -> str:
        """A name that other parts of the request refer to: what would be redacted in it is reported as `block`.

        Only what is proved refuses a request: `call_…` and `Password2` are names, and so is one that was not looked at
        as the texts beside it have spent the allowance; names have one of their own.
        """
        encoded = read(text) if text[:5].lower() == "data:" else None
        inner = encoded.text if encoded is not None else None
        for each in (text, inner or ""):
            for finding in self._scanner.scan(each, self._masks.names_allowance):
                action = self._actions.action(finding.entity, finding.certain)
                if finding.certain and action != "off" and not isinstance(self._scanner, KnownValues):
                    self._note(finding.entity, "block" if action in _MASKING else action, where)
        return text

    def _clean_data(self, text: str, slot: TextSlot) -> str:
        """A data URL or base64: the text in it is masked, binary data stays, any other string is plain text."""
        encoded = read(text)
        if encoded is not None and encoded.text is not None:
            cleaned = self._clean_text(encoded.text, "", slot.where)
            if cleaned != encoded.text:
                return encoded.encoded(cleaned)
        is_known = encoded is not None and len(text) > _SHORT_DATA_CHARS
        return text if is_known else self._clean_text(text, slot.name, slot.where)

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
        try:
            has_many_values = sum(map(text.count, ",[{")) > _MAX_VALUES
            document = None if has_many_values else _Document(text, where)
        except (orjson.JSONDecodeError, _TooDeep):
            document = None
        if document is None:
            return self._clean_text(text, "", where)
        changes = [self.clean(slot) for slot in document.groups()]
        return document.encoded() if any(changes) else text


def _joined(text: str, kept: Iterable[Kept]) -> str:
    return "".join([text[start:end] + mask for start, end, mask in kept])


def _name_of(slot: TextSlot) -> str:
    return slot.name or (slot.key if isinstance(slot.key, str) else "")


def _prefix(name: str) -> str:
    """The text put before a value for its scan."""
    return "" if not name or name in _PLAIN_KEYS else f"{name}: "
