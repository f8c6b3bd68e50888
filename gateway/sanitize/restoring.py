"""Reversible masking: values become placeholders before a model sees them, and values again in its answer.

    caller   "write to jane@posthaus.org"   ->  model    "write to [EMAIL_1]"
    model    "I have told [EMAIL_1]."       ->  caller   "I have told jane@posthaus.org."

What was not restored is counted; what the caller typed is left as it is in the answer.

A placeholder inside an address that a browser resolves to another host stays (`destinations`), unless the caller had
written that very address: a page that was injected could otherwise carry a value out by the address of a picture.
Arguments of the caller's own tools are restored wherever they stand, but for tools that `restore_tools` leaves out.
Nothing is restored into what the gateway itself sends: searches, web tools, hosted MCP calls, logs.

In JSON a value is escaped as often as documents are nested in strings, and placeholders spelt with `\\u` are read.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import re2

from gateway.domain import Json
from gateway.sanitize.destinations import REACH_CHARS, AddressReader, has_scheme, leads_elsewhere, spellings
from gateway.sanitize.json_strings import JsonStrings
from gateway.sanitize.placeholders import (
    ESCAPED_CHARS,
    MAX_PLACEHOLDER_CHARS,
    PLACEHOLDER,
    TYPED,
    Placeholders,
    kept_backslashes,
    name_of,
    opening_of,
    same_index,
    unescaped,
)
from gateway.sanitize.re2_search import searcher, spans
from gateway.texts import GroupSlot, TextSlot

_MAX_ADDED = 8 << 20
"""Characters that values may add to one answer: a long one may stand in it thousands of times."""
_BARE = re.compile(r"(?<!\w)[A-Za-z][A-Za-z0-9_]{1,39}_[0-9]{1,6}(?!\w)")
_FIND_ADDRESS = searcher(re2.compile(rb"(?i)(?:[a-z][a-z0-9+.-]*:[/\\]|(?:https?|wss?|ftp):|[/\\]{2})[^\s\"'<>`]*"))
_MAX_ADDRESSES = 10_000
"""Addresses of one text that are looked at (8 ms): in those behind them placeholders stay."""
_TRAILING = ".,;:!?)]}\\*"
_UNFINISHED_ESCAPE = re.compile(r"(?<!\\)\\++(?:u(?:0(?:0[2-7]?)?)?)?\Z")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_WHOLE_ESCAPES = re.compile(r"(?:[^\\]++|\\(?:u[0-9a-fA-F]{4}|[^u])|(?!))*+")
_IN_JSON = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_JSON_BEGINS = re.compile(r"\s{0,64}+(?:```(?:json)?\s{0,64}+)?(?:\{|\[\s{0,64}+(?:[\"{\[\]\d-]|true|false|null|\Z))")
_MAY_BEGIN_JSON = frozenset("{[ \n`\t\r")
_OWN_ROLES = frozenset(("user", "system", "developer"))
_OWN_PARTS = frozenset(("text", "input_text"))
_ITEM = re.compile(r"\b(output|data|content)\[(\d+)\]|\.item\b")
"""Where an item of an answer is in the path of a text, or in that of an event's."""
_IN_CALL = re.compile(r"\.(?:input|actions?|operation)\b")
_CALL, _CALL_ID = "_call", "call_id"
"""End of the type of an item that calls a tool, and the member of one whose caller runs it."""
_HOSTED_CALL = "server_tool_use"
"""A call of `/v1/messages` that the gateway or its upstream has run."""


class Reading:
    """How far one text has been read, from its beginning, and where its values stand. `is_json`: whether it is JSON;
    None before that is known."""

    __slots__ = ("_addresses", "_at", "_form", "_incomplete", "_strings", "is_json")

    def __init__(self, form: str, is_json: bool | None) -> None:
        self._form, self.is_json = form, is_json
        self._at = 0
        self._addresses, self._strings = AddressReader(), JsonStrings(in_words=not is_json)
        self._incomplete = ""  # an escape that is cut

    def upto(self, text: str, index: int) -> None:
        """Read on to an index of the text."""
        if self.is_json is None:
            self.is_json = reads_as_json(text)
            self._strings = JsonStrings(in_words=not self.is_json)
        if index > self._at:
            piece, self._at = text[self._at : index], index
            self._strings.read(piece)
            if self._form != "json":
                self._addresses.read(self._decoded(piece) if self.is_json else piece)

    def forget(self, text: str, count: int) -> None:
        """Read the first characters of a text, which it then loses."""
        self.upto(text, count)
        self._at -= count

    def behind(self, text: str) -> "Reading":
        """A reading of the text that follows this one, of which all of `text` is read."""
        following = deepcopy(self)
        following.forget(text, len(text))
        return following

    def replace(self, value: str, end: int) -> None:
        """Read a value in the place of its placeholder, which ends at an index of the text."""
        self._addresses.read(value)
        self._at = end

    def written(self, value: str) -> str:
        """A value as it is written at the place that is reached."""
        return self._strings.written(value, quotes=self._form == "json")

    def addresses(self, behind: str) -> Iterator[tuple[str, str, bool]]:
        """The addresses that the place is in: (what of one is before it, its rest in `behind`, whether it leads to
        another host wherever it stands)."""
        read = self._addresses
        for before, rest in read.destinations(behind):
            yield before, rest, read.has_base and not has_scheme(before)
        yield from ((before, rest, True) for before, rest in read.address_in_words(behind))

    def _decoded(self, piece: str) -> str:
        """What a piece of JSON stands for, strings and all else alike."""
        piece = self._incomplete + piece
        if "\\" not in piece:
            self._incomplete = ""
            return piece
        whole = _WHOLE_ESCAPES.match(piece)
        end = whole.end() if whole is not None else 0
        end = len(piece) if len(piece) - end > ESCAPED_CHARS else end  # no JSON
        self._incomplete = piece[end:]
        return _ESCAPE.sub(
            lambda each: chr(int(each[1], 16)) if each[1] else _IN_JSON.get(each[2], each[2]), piece[:end]
        )


@dataclass(slots=True)
class Restorer:
    """Puts the values back into one answer. `addresses`: those that the caller wrote; `tools`: whether arguments of
    the caller's tools are restored, or the names of those that are. `is_json`: the answer's text was asked for as JSON.
    `restored`, `left`: placeholders by entity."""

    placeholders: Placeholders
    addresses: Collection[str] = ()
    tools: bool | Collection[str] = True
    is_json: bool = False
    restored: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    _added: int = 0
    _tool_names: dict[Any, str | None] = field(default_factory=dict)

    def reading(self, form: str) -> Reading:
        """The reading of a new text."""
        return Reading(form, True if form == "json" or self.is_json else None)

    def edits(
        self, text: str, start: int, end: int, reading: Reading, *, tool: str | None = None
    ) -> Iterator[tuple[int, int, str]]:
        """(start, end, value) of each placeholder of ours that begins in text[start:end] and becomes its value.

        `reading`: of this text, not beyond `start`. `tool`: the name of the tool whose arguments the text is, None for
        running text.
        """
        if not self._may_have(text, start):
            return
        read, origin = unescaped(text) if "\\u00" in text else (text, same_index)
        for match in PLACEHOLDER.finditer(read, max(0, start - 1) if origin is same_index else 0):
            first, last = origin(match.start()), origin(match.end())
            name = name_of(match)
            value = self.placeholders.value_of(name)
            if not start <= first < end or value is None:
                continue
            reading.upto(text, first)
            if not reading.is_json and last - first != len(match.group()):
                continue  # escapes mean nothing here
            entity = name.rpartition("_")[0]
            if entity != TYPED:
                is_free = (
                    self._may_restore(tool)
                    if tool is not None
                    else self._is_free(match, text[last : last + REACH_CHARS], reading)
                )
                if not is_free or self._added + len(value) > _MAX_ADDED:
                    self.left[entity] += 1
                    continue
                self.restored[entity] += 1
            self._added += len(value)
            yield origin(match.start() + kept_backslashes(match.group())), last, reading.written(value)
            reading.replace(value, last)

    def holdback_start(self, text: str, start: int, cut: int) -> int:
        """Where a text that goes on is to be held back, `cut` at most: before a placeholder that may not be complete,
        or that ends behind `cut`."""
        low = max(start, len(text) - MAX_PLACEHOLDER_CHARS)
        if text.find("\\", low) >= 0:
            low = max(start, len(text) - MAX_PLACEHOLDER_CHARS * ESCAPED_CHARS)
            unfinished = _UNFINISHED_ESCAPE.search(text, low)
            end = unfinished.start() if unfinished else len(text)
            read, origin = unescaped(text[low:end])
            opening = low + origin(opening_of(read)) if opening_of(read) >= 0 else end
            return min(cut, opening)
        opening = opening_of(text[low:])
        if opening >= 0:
            return min(cut, low + opening)
        opening = text.rfind("[", max(start, cut - MAX_PLACEHOLDER_CHARS), cut)
        whole = PLACEHOLDER.match(text, opening) if opening >= 0 else None
        return opening if whole is not None and whole.end() > cut else cut

    def restore_all(self, slots: Iterable[TextSlot], data: Json | None = None) -> Iterator[bool]:
        """Restore whole texts in place, one at a step; whether it has changed. Texts of one flow are read as one.
        `data`: the answer that holds them."""
        flows: dict[Hashable, Reading] = {}
        for slot in slots:
            yield self._restore(slot, data, flows)

    def _restore(self, slot: TextSlot, data: Json | None, flows: dict[Hashable, Reading]) -> bool:
        if isinstance(slot, GroupSlot):
            return any([self._restore(each, data, flows) for each in slot.members])  # noqa: C419  each is to be restored
        if not slot.is_there:
            return False
        if slot.form not in ("text", "json", "url"):
            self.left.update(each for each in self.placeholders.entities(slot.text) if each != TYPED)
            typed = PLACEHOLDER.sub(self._typed_again, slot.text)
            if is_changed := typed != slot.text:
                slot.text = typed
            return is_changed
        text = slot.text
        tool, reading = self.tool_of(slot, data), flows.get(slot.flow) or self.reading(slot.form)
        edits = list(self.edits(text, 0, len(text), reading, tool=tool))
        if slot.flow is not None:
            flows[slot.flow] = reading.behind(text)
        self.count_bare(text)
        if edits:
            slot.rewrite(edits)
        return bool(edits)

    def _typed_again(self, match: re.Match[str]) -> str:
        """What the caller typed, and what was given another name for that: no secret, and no address is led by it."""
        name = name_of(match)
        return (self.placeholders.value_of(name) if name.startswith(TYPED) else None) or match.group()

    def restore_again(self, slots: Iterable[TextSlot], data: Json | None, *, counts: bool) -> bool:
        """Restore whole texts of a stream's event; whether one has changed. Without `counts` they repeat what came in
        pieces, whose placeholders are counted already."""
        before = self.restored.copy(), self.left.copy(), self._added
        self._added = 0 if not counts else self._added
        changes = list(self.restore_all(slots, data))
        if not counts:
            self.restored, self.left, self._added = before
        return any(changes)

    def count_bare(self, text: str) -> None:
        """Count names of ours that lost their brackets as not restored."""
        if "_" not in text:
            return
        for match in _BARE.finditer(PLACEHOLDER.sub(" ", text)):
            name = match.group().upper()
            if self.placeholders.value_of(name) is not None:
                self.left[name.rpartition("_")[0]] += 1

    def note_tools(self, data: Json) -> None:
        """Remember the names of the tools whose arguments an event of a stream begins (three interfaces)."""
        for choice in data.get("choices") or ():
            for call in (choice.get("delta") or {}).get("tool_calls") or ():
                name = (call.get("function") or call.get("custom") or {}).get("name")
                if name:
                    self._tool_names[choice.get("index"), "call", call.get("index")] = name
        block, item = data.get("content_block"), data.get("item")
        if isinstance(block, dict) and block.get("name"):
            self._tool_names[(data.get("index"),)] = None if block.get("type") == _HOSTED_CALL else block["name"]
        if isinstance(item, dict) and (name := _named(item)):
            self._tool_names[item.get("id")] = name

    def tool_of_channel(self, channel: Any, form: str) -> str | None:
        """The tool whose arguments a channel of a stream holds; None for running text."""
        head = channel[0] if isinstance(channel, tuple) and channel else channel
        for key in (channel, head):
            if key in self._tool_names:
                return self._tool_names[key]
        return "" if form == "json" else None

    def tool_of(self, slot: TextSlot, data: Json | None) -> str | None:
        """The tool whose arguments a whole text is, or belongs to; None for running text. `data`: the answer or event
        that holds it."""
        item = _item_of(slot.where, data) if data is not None else None
        if item is not None and not _is_own_call(item) and not _IN_CALL.search(slot.where):
            item = None
        if item is not None and item.get("type") == _HOSTED_CALL:
            return None
        if item is not None and (name := _named(item)):
            return name
        if slot.key in ("arguments", "input") and isinstance(slot.holder, dict) and "name" in slot.holder:
            return str(slot.holder["name"])
        if isinstance(slot.holder, dict) and slot.holder.get("item_id") in self._tool_names:
            return self._tool_names[slot.holder["item_id"]]
        return "" if slot.form == "json" else None

    def _may_have(self, text: str, start: int) -> bool:
        return bool(self.placeholders) and (text.find("[", start) >= 0 or text.find("\\u00", start) >= 0)

    def _may_restore(self, tool: str) -> bool:
        return self.tools if isinstance(self.tools, bool) else tool in self.tools

    def _is_free(self, match: re.Match[str], behind: str, reading: Reading) -> bool:
        """Whether a placeholder is in no address at another host but one that the caller wrote. `behind`: how the
        text goes on, at least to the end of the word."""
        ours = match.group()
        for before, rest, leads in reading.addresses(ours + behind):
            if not before and not rest:
                return False  # too long to be judged
            leads = leads or leads_elsewhere(self.placeholders.filled(before + ours))
            if leads and not self._is_callers(before + rest):
                return False
        return True

    def _is_callers(self, address: str) -> bool:
        known = self.placeholders.filled(address)
        return known.rstrip(_TRAILING) in self.addresses or all(
            each.rstrip(_TRAILING) in self.addresses for each in spellings(known)
        )


def addresses_of(body: Json, filled: Callable[[str], str] = str) -> frozenset[str]:
    """The addresses with a host that stand in the caller's own words: messages of the user and the system,
    instructions, descriptions of tools. What tools and pages have said does not count. `filled` puts the values into
    words that were stored."""
    found: set[str] = set()
    for text in map(filled, _own_texts(body)):
        if ":" in text or "//" in text or "\\" in text:
            raw = text.encode("utf-8", "replace")
            places = islice(spans(_FIND_ADDRESS, raw), _MAX_ADDRESSES)
            found |= {raw[start:end].decode().rstrip(_TRAILING) for start, end in places}
    return frozenset(found)


def reads_as_json(text: str) -> bool:
    """Whether a text, or the beginning of one, is JSON: structured output."""
    return text[:1] in _MAY_BEGIN_JSON and _JSON_BEGINS.match(text) is not None


def asks_for_json(body: Json) -> bool:
    """Whether a request wants its answer's text as JSON (`response_format`, `text.format`, `output_config.format`)."""
    forms = [body.get("response_format"), body.get("output_format")]
    forms += [
        (body.get(name) or {}).get("format") for name in ("text", "output_config") if isinstance(body.get(name), dict)
    ]
    return any(isinstance(each, dict) and each.get("type") in ("json_object", "json_schema") for each in forms)


def _own_texts(body: Json) -> Iterator[str]:
    for name in ("instructions", "system", "input", "prompt"):
        if isinstance(body.get(name), str):
            yield body[name]
    for value in (body.get("metadata") or {}).values() if isinstance(body.get("metadata"), dict) else ():
        if isinstance(value, str):
            yield value
    for tool in body["tools"] if isinstance(body.get("tools"), list) else ():
        function = tool.get("function") if isinstance(tool, dict) else None
        for each in (tool, function):
            if isinstance(each, dict) and isinstance(each.get("description"), str):
                yield each["description"]
    messages = [each for name in ("messages", "input") if isinstance(body.get(name), list) for each in body[name]]
    system = body.get("system")
    parts = list(system) if isinstance(system, list) else []
    for message in messages:
        if isinstance(message, dict) and message.get("role") in _OWN_ROLES:
            content = message.get("content")
            if isinstance(content, str):
                yield content
            elif isinstance(content, list):
                parts += content
    for part in parts:
        if isinstance(part, dict) and part.get("type") in _OWN_PARTS and isinstance(part.get("text"), str):
            yield part["text"]


def _item_of(where: str, data: Json) -> Json | None:
    """The item of an answer or event that the path of one of its texts leads through; None for none."""
    found = _ITEM.search(where)
    if found is None or not found[1]:
        item = data.get("item") if found is not None else None
    else:
        holder = data["response"] if isinstance(data.get("response"), dict) else data
        items, place = holder.get(found[1]), int(found[2])
        item = items[place] if isinstance(items, list) and place < len(items) else None
    return item if isinstance(item, dict) else None


def _named(item: Json) -> str:
    """The name of the tool that an item calls; a call without one is named by its kind (`shell`). Empty for others."""
    return str(item.get("name") or (item["type"].removesuffix(_CALL) if _is_own_call(item) else ""))


def _is_own_call(item: Json) -> bool:
    """Whether the caller runs what an item calls, also of kinds that are not known here."""
    return str(item.get("type")).endswith(_CALL) and bool(item.get(_CALL_ID))
