"""Masks one slot of text according to its form: plain text, a JSON document, a web address, a name that must stay.

Also groups of short strings. This module does not know where slots come from, nor what a refusal looks like: it reports
findings to a callback.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson
import re2

from gateway.sanitize.chunks import Joined
from gateway.sanitize.encoded_text import SHORT_DATA_CHARS, read
from gateway.sanitize.findings import Finding, mask_of
from gateway.sanitize.json_document import JsonDocument, TooDeep
from gateway.sanitize.json_strings import JsonStrings
from gateway.sanitize.placeholders import TYPED, Placeholders
from gateway.sanitize.policy import Action, ActionTable
from gateway.sanitize.re2_search import searcher
from gateway.sanitize.restoring import reads_as_json
from gateway.sanitize.sparing import Finder
from gateway.sanitize.split_values import mask_seams
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
(`detectors.value_forms.MIN_CHARS`). In an object of free names each name was scanned twice for values of one letter."""


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
            entity = name.rpartition("_")[0]
            if entity != TYPED:
                self._look_for(value, Finding(0, len(value), entity, certain=True))

    def over(self, finding: Finding, value: str, action: Action, spelt: str = "") -> str:
        """The mask that replaces a value. `spelt`: the same value with the escapes that the text has, if any."""
        for each in (value, spelt):
            if not each.startswith("["):
                self._look_for(each, finding)
        if action == "replace" and self.placeholders is not None:
            return self.placeholders.mask(finding.entity, value)
        return mask_of(finding.entity)

    def _look_for(self, value: str, finding: Finding) -> None:
        if _MIN_KNOWN_CHARS <= len(value) <= _MAX_KNOWN_CHARS and len(self.found) < _MAX_KNOWN:
            self.found.setdefault(value, finding)


_MIN_KNOWN_CHARS, _MAX_KNOWN_CHARS, _MAX_KNOWN = 6, 2_048, 256
"""A shorter value is a word or number that stands elsewhere too, a longer one is a key that its form shows everywhere;
and values that are looked for in one request."""
_HEAD_BYTES, _MAX_ALIKE = 24, 8
"""How much of a value is searched for, and how many that begin alike are compared at a place: with longer heads RE2
needs more memory than it may have, with more values a text of heads costs more than a scan."""
_BYTES = re2.Options()
_BYTES.encoding = re2.Options.Encoding.LATIN1
_NOT_IN_WORD = searcher(re2.compile(rb"[^A-Za-z0-9]", _BYTES))


def _longest(value: tuple[bytes, Finding]) -> int:
    return -len(value[0])


_MIN_KEY_CHARS = 8


def _is_no_word(value: str) -> bool:
    """Whether a value has letters and digits: `testing`, which may be a password, is also the name of something."""
    return len(value) >= _MIN_KEY_CHARS and any(map(str.isdigit, value)) and any(map(str.isalpha, value))


class KnownValues:
    """Finds values that are known, as a Scanner finds those that look like one: whole words, wherever they stand.

    Naive form: look for each value in turn. Here one search finds the heads of all, and the values that begin so are
    compared there, the longest first.
    """

    def __init__(self, found: Mapping[str, Finding]) -> None:
        self._values: dict[bytes, list[tuple[bytes, Finding]]] = {}
        raw = sorted(((value.encode("utf-8", "surrogatepass"), each) for value, each in found.items()), key=_longest)
        heads = dict.fromkeys([value[:_HEAD_BYTES] for value, _ in raw])
        for head in heads:
            same = [each for each in raw if each[0].startswith(head) or head.startswith(each[0])]
            self._values[head] = same[:_MAX_ALIKE]
        self._search = searcher(re2.compile(b"|".join(map(re2.escape, heads)) or b"[^\\s\\S]", _BYTES))

    def scan(self, text: str, allowance: SharedAllowance | None = None) -> list[Finding]:
        """The findings in a text, in order, disjoint."""
        raw = text.encode("utf-8", "surrogatepass")
        findings: list[Finding] = []
        read = chars = 0  # bytes, and the characters that they are
        start, end = self._search(raw, 0)
        while start >= 0:
            found = self._whole_at(raw, start, self._values[raw[start:end]])
            if found is None:
                gap = _NOT_IN_WORD(raw, start)[0]  # no whole word begins within one
                start, end = self._search(raw, gap + 1) if gap >= 0 else (-1, -1)
                continue
            value, known = found
            chars += len(raw[read:start].decode("utf-8", "surrogatepass"))
            size = len(value.decode("utf-8", "surrogatepass"))
            findings.append(Finding(chars, chars + size, known.entity, known.certain))
            chars, read = chars + size, start + len(value)
            start, end = self._search(raw, read)
        return findings

    @staticmethod
    def _whole_at(raw: bytes, start: int, values: list[tuple[bytes, Finding]]) -> tuple[bytes, Finding] | None:
        if raw[max(0, start - 4) : start].decode("utf-8", "ignore")[-1:].isalnum():
            return None
        for value, known in values:
            end = start + len(value)
            if raw.startswith(value, start) and not raw[end : end + 4].decode("utf-8", "ignore")[:1].isalnum():
                return value, known
        return None

    def scan_parts(self, text: str, allowance: SharedAllowance | None, prefix: str = "") -> Iterator[list[Finding]]:
        """As `Scanner.scan_parts`."""
        yield self.scan(text)

    def scan_member(self, name: str, value: str) -> list[Finding]:
        """Nothing: names say nothing of values that are known."""
        return []

    def scan_url(self, url: str) -> list[Finding]:
        """As `Scanner.scan_url`."""
        return [each for each in self.scan(url) if each.entity == "SECRET"]


class SlotMasker:
    """Masks slots by a table of actions; reports findings to `note`.

    `allowance` is that of the request that the slots belong to; None for texts of a stream. `masks`: the masks over
    the values. `are_known`: the scanner finds values that stand elsewhere in the request, which may be words: a name
    that must stay is refused for one that is none.
    """

    def __init__(
        self,
        scanner: Finder,
        actions: ActionTable,
        note: Note,
        allowance: SharedAllowance | None = None,
        masks: Masks | None = None,
        *,
        are_known: bool = False,
    ) -> None:
        self._scanner, self._actions, self._note = scanner, actions, note
        self._are_known = are_known
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

    def seam_steps(self, slots: Iterable[TextSlot]) -> Iterator[bool]:
        """Mask values that are split over texts of one flow, in steps of a scan each, which say whether there was one.
        Take all of them before `clean`. Raises what `clean` raises."""
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
        for index, slot in enumerate(members):
            if names[index] and (whole := self._scanner.scan_member(names[index][:-2], slot.text)):
                touched[index] = whole
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
                is_word = self._are_known and not _is_no_word(each[finding.start : finding.end])
                if finding.certain and action != "off" and not is_word:
                    self._note(finding.entity, "block" if action in _MASKING else action, where)
        return text

    def _clean_data(self, text: str, slot: TextSlot) -> str:
        """A data URL or base64: the text in it is masked, binary data stays, any other string is plain text."""
        encoded = read(text)
        if encoded is not None and encoded.text is not None:
            cleaned = self._clean_text(encoded.text, "", slot.where)
            if cleaned != encoded.text:
                return encoded.encoded(cleaned)
        is_known = encoded is not None and len(text) > SHORT_DATA_CHARS
        return text if is_known else self._clean_text(text, slot.name, slot.where)

    def _clean_text(self, text: str, name: str, where: str) -> str:
        """`name` is the key of the value, scanned as `name: text`: `{"password": …}` names a secret. A text with a
        blocked finding is cut before it."""
        prefix = _prefix(name)
        whole = self._scanner.scan_member(name, text) if prefix else []
        found = [whole] if whole else self._scanner.scan_parts(text, self._allowance, prefix)
        return _joined(text, self._around(text, found, where))

    def _around(self, text: str, found: Iterable[list[Finding]], where: str) -> Iterator[Kept]:
        """What stays of a text around its findings; all of it where nothing is masked in it."""
        at, end, meanings = 0, len(text), _Meanings(text)
        for findings in found:
            for finding in findings:
                start, action = finding.start, self._report(finding, where)
                if action == "block":
                    end = min(end, start)
                elif action in _MASKING and start < end:
                    spelt = text[start : finding.end]
                    yield at, start, self._masks.over(finding, meanings.of(start, spelt), action, spelt)
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
            document = None if has_many_values else JsonDocument(text, where)
        except (orjson.JSONDecodeError, TooDeep):
            document = None
        if document is None:
            return self._clean_text(text, "", where)
        changes = [self.clean(slot) for slot in document.groups()]
        return document.encoded() if any(changes) else text


class _Meanings:
    """What the values in a text are where strings of JSON hold them: the line ends of a key are no `\\n` there."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._strings: JsonStrings | None = None

    def of(self, start: int, spelt: str) -> str:
        """The value that is spelt so at `start`; ask for values in order."""
        if "\\" not in spelt:
            return spelt
        self._strings = self._strings or JsonStrings(in_words=not reads_as_json(self._text))
        self._strings.read(self._text[self._at : start])
        self._at = start
        return self._strings.meaning(spelt)


def _joined(text: str, kept: Iterable[Kept]) -> str:
    return "".join([text[start:end] + mask for start, end, mask in kept])


def _name_of(slot: TextSlot) -> str:
    return slot.name or (slot.key if isinstance(slot.key, str) else "")


def _prefix(name: str) -> str:
    """The text put before a value for its scan."""
    return "" if not name or name in _PLAIN_KEYS else f"{name}: "
