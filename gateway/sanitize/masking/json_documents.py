"""Masks JSON documents (arguments of tool calls) in their strings, large numbers and property names; they stay JSON.

Theory of operation. Naive form: each of them is scanned by itself, which takes as long as 4,000 characters of prose.
Here short ones are scanned together, as lines of one text, whichever document they are in. Only those in whose line
something is found are looked at alone, so that a string is masked as it would be by itself. That is charged to the
request; once its allowance is spent, what was found in their lines counts. Does not know where documents come from.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import orjson

from gateway.sanitize.text.findings import Finding
from gateway.sanitize.text.work_budget import SharedAllowance
from gateway.texts import GroupSlot, TextSlot

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
