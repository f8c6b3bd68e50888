"""Masks one slot of text according to its form: plain text, a JSON document, a web address, a name that must stay.

Does not know where slots come from, nor what a refusal looks like: it reports findings to a callback.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import TypeAlias

import orjson

from gateway.sanitize.masking.encoded_text import SHORT_CHARS, is_binary, read
from gateway.sanitize.masking.json_documents import ALONE_UNITS, DocumentsSlot, JsonDocuments, TooDeep, is_json
from gateway.sanitize.masking.policy import Action, ActionTable
from gateway.sanitize.masking.seams import mask_seams
from gateway.sanitize.masking.weights import has_many_values
from gateway.sanitize.scan.scanner import Scanner
from gateway.sanitize.text.findings import Finding, mask_of
from gateway.sanitize.text.work_budget import SharedAllowance
from gateway.texts import GroupSlot, TextSlot

Kept: TypeAlias = tuple[int, int, str]
"""(start, end, mask): the characters [start, end) of a text stay, and the mask stands behind them."""
Note = Callable[[str, Action, str], None]
"""Called for each finding whose action is not `off`: (entity, action, path of the slot)."""

_PLAIN_KEYS = frozenset(
    ("text", "content", "query", "title", "raw_content", "url", "description", "input", "output", "arguments", "error")
)
"""Keys of common fields that say nothing about their value; any other key is scanned before the value, as its name."""
_MIN_NAMED_CHARS = 4
"""Shorter values are scanned without their name, since no name makes a secret or a number of them
(`detectors.secret_values`). Chosen: in an object of free names each name was scanned twice for values of one letter."""


class SlotMasker:
    """Masks slots by a table of actions; reports findings to `note`.

    `allowance` is that of the request that the slots belong to; None for texts of a stream.
    """

    def __init__(
        self,
        scanner: Scanner,
        actions: ActionTable,
        note: Note,
        allowance: SharedAllowance | None = None,
    ) -> None:
        self._scanner, self._actions, self._note = scanner, actions, note
        self._allowance = allowance

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
        return mask_seams(slots, self._scan, self._report)

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
                          for each in touched[index]]  # fmt: skip
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
            action = self._actions.action(finding.entity, finding.certain)
            if action != "off":
                self._note(finding.entity, "block" if action == "redact" else action, where)

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
        return _joined(
            text, self._around(self._scanner.scan_parts(text, self._allowance, _prefix(name)), len(text), where)
        )

    def _around(self, found: Iterable[list[Finding]], size: int, where: str) -> Iterator[Kept]:
        """What stays of a text of `size` characters around its findings; all of it where nothing is masked in it."""
        at, end = 0, size
        for findings in found:
            for finding in findings:
                start, action = finding.start, self._report(finding, where)
                if action == "block":
                    end = min(end, start)
                elif action == "redact" and start < end:
                    yield at, start, mask_of(finding.entity)
                    at = finding.end
        yield at, end, ""

    def _report(self, finding: Finding, where: str) -> Action:
        action = self._actions.action(finding.entity, finding.certain)
        if action != "off":
            self._note(finding.entity, action, where)
        return action

    def _clean_url(self, url: str, where: str) -> str:
        findings = [each for each in self._scanner.scan_url(url) if self._report(each, where) == "redact"]
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
        return _joined(text, self._around([findings], len(text), where))


def _joined(text: str, kept: Iterable[Kept]) -> str:
    return "".join([text[start:end] + mask for start, end, mask in kept])


def _name_of(slot: TextSlot) -> str:
    return slot.name or (slot.key if isinstance(slot.key, str) else "")


def _prefix(name: str) -> str:
    """The text put before a value for its scan."""
    return "" if not name or name in _PLAIN_KEYS else f"{name}: "
