"""Reversible masking: values become placeholders before a model sees them, and values again in its answer.

    caller   "write to jane@posthaus.org"   ->  model    "write to [EMAIL_1]"
    model    "I have told [EMAIL_1]."       ->  caller   "I have told jane@posthaus.org."

A placeholder has the number of its value among those of its entity, in the order of the request, so a history that is
sent again gets the same ones and a prompt cache holds. A name that the caller typed is never given out, and is left as
it is in the answer. Models bend placeholders: `[email_1]`, `[ EMAIL 1 ]`, `` [`EMAIL_1`] ``, `\\[EMAIL\\_1\\]` are
restored too, as long as the brackets stand; what was not restored is counted.

A placeholder inside an address that a browser resolves to another host stays (`destinations`), unless the caller had
written that very address: a page that was injected could otherwise carry a value out by the address of a picture.
Arguments of the caller's own tools are restored wherever they stand, but for tools that `restore_tools` leaves out.
Nothing is restored into what the gateway itself sends: searches, web tools, hosted MCP calls, logs.

In JSON a value is escaped as often as documents are nested in strings, and placeholders spelt with `\\u` are read.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson
import re2

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.sanitize.destinations import REACH_CHARS, AddressReader, has_scheme, leads_elsewhere, spellings
from gateway.sanitize.json_strings import JsonStrings
from gateway.sanitize.re2_search import searcher, spans
from gateway.texts import GroupSlot, TextSlot

TYPED = "TYPED"
"""The entity of a placeholder that the caller typed, where a stored item has one of the same name."""
MAX_PLACEHOLDER_CHARS = 72
"""Longest bent form that is held back while it comes in pieces: an entity of 40 letters, a number and marks."""
_MARKS = r"[ \t`*]{0,3}"
_ENTITY = r"([A-Za-z][A-Za-z0-9]{0,39}(?:\\{0,4}[ _-][A-Za-z0-9]{1,38}){0,12})\\{0,4}[ _-]([0-9]{1,6})"
"""A name that the configuration allows (`sanitize.patterns`), and a number; typed by the caller or bent by a model."""
_PLACEHOLDER = re.compile(r"\\{0,2}\[" + _MARKS + _ENTITY + _MARKS + r"\\{0,2}\]")
_UNFINISHED = re.compile(r"\\{0,2}(?:\[[ \t`*A-Za-z0-9_\\-]{0,70})?\Z")
_TYPED = re.compile(_ENTITY + r"[ \t`*]{0,3}\\{0,4}\]\Z")
_FIND_CLOSING = searcher(re2.compile(rb"[A-Za-z0-9\\][ _-][0-9]{1,6}[ \t`*\\]{0,7}\]"))
"""What every placeholder ends with, found fast in a body of megabytes."""
_MAX_TYPED = 2_000
"""Different endings that are looked at in one body (50 ms)."""
_FAR = 500_000
"""Where numbers begin in a body with more of them than are looked at."""
_MAX_ADDED = 8 << 20
"""Characters that values may add to one answer: a long one may stand in it thousands of times."""
_SEPARATORS = re.compile(r"\\{0,4}[ _-]")
_BARE = re.compile(r"(?<!\w)[A-Za-z][A-Za-z0-9_]{1,39}_[0-9]{1,6}(?!\w)")
_FIND_ADDRESS = searcher(re2.compile(rb"(?i)(?:[a-z][a-z0-9+.-]*:[/\\]|(?:https?|wss?|ftp):|[/\\]{2})[^\s\"'<>`]*"))
_MAX_ADDRESSES = 10_000
"""Addresses of one text that are looked at (8 ms): in those behind them placeholders stay."""
_TRAILING = ".,;:!?)]}\\*"
_ESCAPED = re.compile(r"(?<!\\)\\++u00([2-7][0-9A-Fa-f])")
"""A character of ASCII in JSON, or in JSON within it."""
_UNFINISHED_ESCAPE = re.compile(r"(?<!\\)\\++(?:u(?:0(?:0[2-7]?)?)?)?\Z")
_ESCAPED_CHARS = 9
"""One such character, spelt with three backslashes."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_WHOLE_ESCAPES = re.compile(r"(?:[^\\]++|\\(?:u[0-9a-fA-F]{4}|[^u]))*+")
_IN_JSON = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_JSON_BEGINS = re.compile(r"\s{0,64}+(?:```(?:json)?\s{0,64}+)?(?:\{|\[\s{0,64}+(?:[\"{\[\]\d-]|true|false|null|\Z))")
_MAY_BEGIN_JSON = frozenset("{[ \n`\t\r")
_OWN_ROLES = frozenset(("user", "system", "developer"))
_OWN_PARTS = frozenset(("text", "input_text"))
_STATES = ("encrypted_content", "signature", "thought_signature")
"""Members that hold a model's state in a form of its own."""
_ITEM = re.compile(r"\b(output|data|content)\[(\d+)\]|\.item\b")
"""Where an item of an answer is in the path of a text, or in that of an event's."""
_IN_CALL = re.compile(r"\.(?:input|actions?|operation)\b")
_CALL, _CALL_ID = "_call", "call_id"
"""End of the type of an item that calls a tool, and the member of one whose caller runs it."""
_HOSTED_CALL = "server_tool_use"
"""A call of `/v1/messages` that the gateway or its upstream has run."""


class Placeholders:
    """The values of one request and the names that stand for them. `replaced`: how many values of each entity."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._values: dict[str, str] = {}
        self._typed: set[str] = set()
        self._last: dict[str, int] = {}
        self._first, self._far = "", 0
        self.replaced: Counter[str] = Counter()

    def __bool__(self) -> bool:
        """Whether any name stands for a value."""
        return bool(self._values)

    def reserve_typed(self, body: Any) -> None:
        """Keep the names that the caller typed anywhere in a body from being given out."""
        typed = _typed_in(body)
        if typed is None:
            self._far = _FAR
        else:
            self._typed |= typed

    def set_apart(self, body: Json, stored: Collection[int]) -> None:
        """Give what the caller typed in a body another name, in place, where a stored item has that name: the typed
        words come back as they are. `stored`: the identities of stored items that are in the body.

            names {EMAIL_1: jane}, body "the words [EMAIL_1]"  ->  "the words [TYPED_1]", {TYPED_1: "[EMAIL_1]"}
        """
        if not self._values:
            return
        own = {
            name: [each for each in value if id(each) not in stored] if isinstance(value, list) else value
            for name, value in body.items()
        }
        typed = _typed_in(own) or set()
        if not typed & self._values.keys():
            return
        self._typed |= typed - self._values.keys()

        def apart(match: re.Match[str]) -> str:
            words = match.group()
            if _name_of(match) not in self._values:
                return words
            if (TYPED, words) not in self._names:
                self._hold(self._next(TYPED, ()), words)
            return f"[{self._names[TYPED, words]}]"

        _respell(body, apart, stored)

    def adopt(self, stored: Mapping[str, str]) -> None:
        """Go on with the names of the turns before this one, `{EMAIL_1: value}`."""
        for name, value in stored.items():
            self._hold(name, value)
            self._typed.discard(name)

    def meet(self, items: list[Json], values: Mapping[str, str], where: str) -> None:
        """Go on with the names in stored items. A name that stands for something else already is given up: these items
        get another one, in place. A name without a value counts as typed.

            names {EMAIL_1: jane}, values {EMAIL_1: bob}, items "write to [EMAIL_1]"  ->  "write to [EMAIL_2]"

        Raises InvalidRequest where a state that only its model can read holds a name that must be given up. `where`:
        the field that names the items.
        """
        renamed: dict[str, str] = {}
        for name, value in values.items():
            entity = name.rpartition("_")[0]
            is_taken = self._values.get(name, value) != value or name in self._typed
            if is_taken and self._names.get((entity, value)) != name:
                renamed[name] = self._names.get((entity, value)) or self._next(entity, values)
                self._hold(renamed[name], value)
        if renamed and (holder := next(filter(_holds_state, items), None)) is not None:
            others = " and ".join(dict.fromkeys(filter(None, (self._first, where))))
            raise InvalidRequest(
                f"{where}: the placeholder [{min(renamed)}] stands for different values in {others}, and the state of "
                f"an item of type '{holder.get('type')}' cannot be changed; begin a new conversation",
                param=where,
                code="masked_values_clash",
            )
        for item in items if renamed else ():
            _rename(item, renamed)
        self._first = self._first or where
        self.reserve_typed(items)
        self.adopt({name: value for name, value in values.items() if name not in renamed})
        self._typed -= set(renamed.values())

    def _next(self, entity: str, taken: Collection[str]) -> str:
        """A name that is neither given out, nor typed, nor among `taken`."""
        number = max(self._last.get(entity, 0), self._far) + 1
        while (name := f"{entity}_{number}") in self._typed or name in self._values or name in taken:
            number += 1
        return name

    def _hold(self, name: str, value: str) -> None:
        entity, _, number = name.rpartition("_")
        self._values[name] = value
        self._names.setdefault((entity, value), name)
        self._last[entity] = max(self._last.get(entity, 0), int(number))

    def mask(self, entity: str, value: str) -> str:
        """The placeholder of a value: the same one whenever it is asked for. Placeholders in it stand for their
        values, so that one which holds another comes back whole."""
        value = self.filled(value) if "[" in value else value
        name = self._names.get((entity, value))
        if name is None:
            name = self._next(entity, ())
            self._hold(name, value)
        self.replaced[entity] += 1
        return f"[{name}]"

    def values_in(self, value: Any) -> dict[str, str]:
        """Of the names that were given out those that stand in a decoded value, `{EMAIL_1: value}`; all where it has
        too many."""
        typed = _typed_in(value)
        return {name: held for name, held in sorted(self._values.items()) if typed is None or name in typed}

    def value_of(self, name: str) -> str | None:
        """What a name stands for; None for one that was not given out."""
        return self._values.get(name)

    def filled(self, text: str) -> str:
        """A text with the values of its placeholders."""
        return _PLACEHOLDER.sub(lambda each: self._values.get(_name_of(each)) or each.group(), text)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where placeholders stand in a text that were given out."""
        if "[" not in text and "\\u00" not in text:
            return []
        read, origin = _unescaped(text) if "\\u00" in text else (text, _same)
        found = [each.span() for each in _PLACEHOLDER.finditer(read) if _name_of(each) in self._values]
        return [(origin(start), origin(end)) for start, end in found]

    def entities(self, text: str) -> Iterator[str]:
        """Of each placeholder in a text that was given out."""
        names = map(_name_of, _PLACEHOLDER.finditer(text) if "[" in text else ())
        return (name.rpartition("_")[0] for name in names if name in self._values)

    def as_map(self) -> dict[str, str]:
        """`{EMAIL_1: value}`: what `adopt` takes."""
        return dict(self._values)


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
        end = len(piece) if len(piece) - end > _ESCAPED_CHARS else end  # no JSON
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
        read, origin = _unescaped(text) if "\\u00" in text else (text, _same)
        for match in _PLACEHOLDER.finditer(read, max(0, start - 1) if origin is _same else 0):
            first, last = origin(match.start()), origin(match.end())
            name = _name_of(match)
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
            yield origin(match.start() + _kept_backslashes(match.group())), last, reading.written(value)
            reading.replace(value, last)

    def holdback_start(self, text: str, start: int, cut: int) -> int:
        """Where a text that goes on is to be held back, `cut` at most: before a placeholder that may not be complete,
        or that ends behind `cut`."""
        low = max(start, len(text) - MAX_PLACEHOLDER_CHARS)
        if text.find("\\", low) >= 0:
            low = max(start, len(text) - MAX_PLACEHOLDER_CHARS * _ESCAPED_CHARS)
            unfinished = _UNFINISHED_ESCAPE.search(text, low)
            end = unfinished.start() if unfinished else len(text)
            read, origin = _unescaped(text[low:end])
            opening = low + origin(_opening(read)) if _opening(read) >= 0 else end
            return min(cut, opening)
        opening = _opening(text[low:])
        if opening >= 0:
            return min(cut, low + opening)
        opening = text.rfind("[", max(start, cut - MAX_PLACEHOLDER_CHARS), cut)
        whole = _PLACEHOLDER.match(text, opening) if opening >= 0 else None
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
            typed = _PLACEHOLDER.sub(self._typed_again, slot.text)
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
        name = _name_of(match)
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
        for match in _BARE.finditer(_PLACEHOLDER.sub(" ", text)):
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
        """Whether a placeholder stands in no address at another host but one that the caller wrote. `behind`: how the
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


def _name_of(match: re.Match[str]) -> str:
    """The name in a placeholder, as it was given out: `EMAIL_1` of `[ email 1 ]`."""
    return f"{_SEPARATORS.sub('_', match[1]).upper()}_{int(match[2])}"


def _holds_state(item: Json) -> bool:
    """Whether an item holds what only its model can read, and what is therefore never rewritten."""
    waiting: list[Any] = [item]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if any(isinstance(value.get(name), str) and value[name] for name in _STATES):
                return True
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return False


def _typed_in(value: Any) -> set[str] | None:
    """The names in all placeholders of a decoded value, by their endings; None where these are too many."""
    try:
        raw = orjson.dumps(value, default=str)
    except TypeError:  # a lone surrogate
        raw = repr(value).encode("utf-8", "replace")
    found = set()
    seen = set[bytes]()
    for _, end in spans(_FIND_CLOSING, raw):
        opening = raw.rfind(b"[", max(0, end - MAX_PLACEHOLDER_CHARS), end)
        ending = raw[max(opening, end - MAX_PLACEHOLDER_CHARS, 0) : end]
        if ending in seen:
            continue
        if len(seen) == _MAX_TYPED:
            return None
        seen.add(ending)
        typed = _TYPED.search(ending.decode("utf-8", "replace"))
        if typed is not None:
            found.add(_name_of(typed))
    return found


def _rename(holder: Any, renamed: Mapping[str, str]) -> None:
    """Write other names into the placeholders of all strings of an item, a dict or list."""

    def other(match: re.Match[str]) -> str:
        name = renamed.get(_name_of(match))
        return f"[{name}]" if name is not None else match.group()

    _respell(holder, other)


def _respell(holder: Any, respelt: Callable[[re.Match[str]], str], skipped: Collection[int] = ()) -> None:
    """Write all placeholders in the strings and names of an item anew, but for what is `skipped`, by identity."""
    if isinstance(holder, dict) and any("[" in name for name in holder):
        members = {_PLACEHOLDER.sub(respelt, name): value for name, value in holder.items()}
        holder.clear()
        holder.update(members)
    for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
        if isinstance(value, str) and "[" in value:
            holder[key] = _PLACEHOLDER.sub(respelt, value)
        elif isinstance(value, dict | list) and id(value) not in skipped:
            _respell(value, respelt, skipped)


def _kept_backslashes(placeholder: str) -> int:
    """Backslashes before the opening bracket that stay: all but as many as Markdown has put before the closing one.

    "\\[EMAIL\\_1\\]"  ->  0;    "C:\\Users\\[EMAIL_1]"  ->  1
    """
    name = placeholder[:-1]
    return max(0, placeholder.index("[") - (len(name) - len(name.rstrip("\\"))))


def _opening(text: str) -> int:
    """Where a placeholder begins that is not complete at a text's end; -1 for nowhere."""
    opening = text.rfind("[", -MAX_PLACEHOLDER_CHARS)
    if opening < 0:
        return len(text) - 1 if text.endswith("\\") else -1
    while opening > 0 and text[opening - 1] == "\\":
        opening -= 1
    return opening if _UNFINISHED.match(text, opening) else -1


def _same(index: int) -> int:
    return index


def _unescaped(text: str) -> tuple[str, Callable[[int], int]]:
    """A text with the characters that `\\u` spells, and where its characters come from.

    "so \\u005bEMAIL_1]"  ->  "so [EMAIL_1]", 4 -> 9
    """
    parts, places, at, size = list[str](), [(0, 0)], 0, 0
    for match in _ESCAPED.finditer(text):
        parts += (text[at : match.start()], chr(int(match[1], 16)))
        size, at = size + match.start() - at + 1, match.end()
        places.append((size, at))

    def origin(index: int) -> int:
        shown, real = places[bisect_right(places, (index, len(text))) - 1]
        return real + index - shown

    return "".join((*parts, text[at:])), origin
