"""Reversible masking: values become placeholders before a model sees them, and values again in its answer.

    caller   "write to jane@posthaus.org"   ->  model    "write to [EMAIL_1]"
    model    "I have told [EMAIL_1]."       ->  caller   "I have told jane@posthaus.org."

A placeholder has the number of its value among those of its entity, in the order of the request, so a history that is
sent again gets the same ones and a prompt cache holds. A name that the caller typed is never given out, and is left as
it is in the answer. Models bend placeholders: `[email_1]`, `[ EMAIL 1 ]`, `` [`EMAIL_1`] ``, `\\[EMAIL\\_1\\]` are
restored too, as long as the brackets stand; what was not restored is counted.

In running text a placeholder inside an http(s) address stays unless the caller had written that very address: a page
that was injected could otherwise carry a value out by the address of a picture. The user of an address and `mailto:`
are restored. Arguments of the caller's own tools are restored wherever they stand, but for tools that `restore_tools`
leaves out. Nothing is restored into what the gateway itself sends: searches, web tools, hosted MCP calls, logs.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson
import re2

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.sanitize.re2_search import searcher, spans
from gateway.texts import GroupSlot, TextSlot

MAX_PLACEHOLDER_CHARS = 72
"""Longest bent form that is held back while it comes in pieces: an entity of 40 letters, a number and marks."""
_MARKS = r"[ \t`*]{0,3}"
_ENTITY = r"([A-Za-z][A-Za-z0-9]{1,20}(?:\\{0,4}[ _-][A-Za-z][A-Za-z0-9]{0,20}){0,4})\\{0,4}[ _-]([0-9]{1,6})"
_PLACEHOLDER = re.compile(r"\\{0,2}\[" + _MARKS + _ENTITY + _MARKS + r"\\{0,2}\]")
_UNFINISHED = re.compile(r"\\{0,2}(?:\[[ \t`*A-Za-z0-9_\\-]{0,70})?\Z")
_TYPED = re.compile(_ENTITY + r"[ \t`*]{0,3}\\{0,4}\]\Z")
_FIND_CLOSING = searcher(re2.compile(rb"[A-Za-z0-9\\][ _-][0-9]{1,6}[ \t`*\\]{0,7}\]"))
"""What every placeholder ends with, found fast in a body of megabytes."""
_MAX_TYPED = 2_000
"""Endings that are looked at in one body (50 ms)."""
_SEPARATORS = re.compile(r"\\{0,4}[ _-]")
_BARE = re.compile(r"(?<![\w\[])[A-Z][A-Z0-9_]{1,39}_[0-9]{1,6}(?![\w\]])")
_ADDRESS = re.compile(r"(?i)https?://[^\s\"'<>`]+")
_ADDRESS_BEGINS = re.compile(r"(?i)(?:https?:|(?<![\w:/\\]))(?:\\?/){2}")
_BLANK = re.compile(r"[\s\"'<>`]")
_REST_OF_ADDRESS = re.compile(r"[^\s\"'<>`]{0,2048}")
_CLOSING = {'"': '"', "'": "'", "<": ">"}
_TRAILING = ".,;:!?)]}\\*"
ADDRESS_REACH_CHARS = 2_048
"""How far an address reaches back from a placeholder in it; a longer one counts as an address without a beginning."""
_JSON_BEGINS = re.compile(r"\s{0,64}+(?:```(?:json)?\s{0,64}+)?(?:\{|\[\s{0,64}+(?:[\"{\[\]\d-]|true|false|null|\Z))")
_OWN_ROLES = frozenset(("user", "system", "developer"))
_OWN_PARTS = frozenset(("text", "input_text"))
_STATES = ("encrypted_content", "signature", "thought_signature")
"""Members that hold a model's state in a form of its own."""
_TOOL_INPUT = re.compile(r"content\[(\d+)\]\.input\b")


class Placeholders:
    """The values of one request and the names that stand for them. `replaced`: how many values of each entity."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._values: dict[str, str] = {}
        self._typed: set[str] = set()
        self._last: dict[str, int] = {}
        self._first = ""
        self.replaced: Counter[str] = Counter()

    def __bool__(self) -> bool:
        """Whether any name stands for a value."""
        return bool(self._values)

    def reserve_typed(self, body: Any) -> None:
        """Keep the names that the caller typed anywhere in a body from being given out."""
        try:
            raw = orjson.dumps(body, default=str)
        except TypeError:  # a lone surrogate
            raw = repr(body).encode("utf-8", "replace")
        for _, end in islice(spans(_FIND_CLOSING, raw), _MAX_TYPED):
            typed = _TYPED.search(raw[max(0, end - MAX_PLACEHOLDER_CHARS) : end].decode("utf-8", "replace"))
            if typed is not None:
                self._typed.add(_name_of(typed))

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
            if self._values.get(name, value) != value or name in self._typed:
                entity = name.rpartition("_")[0]
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
        number = self._last.get(entity, 0) + 1
        while (name := f"{entity}_{number}") in self._typed or name in self._values or name in taken:
            number += 1
        return name

    def _hold(self, name: str, value: str) -> None:
        entity, _, number = name.rpartition("_")
        self._values[name] = value
        self._names.setdefault((entity, value), name)
        self._last[entity] = max(self._last.get(entity, 0), int(number))

    def mask(self, entity: str, value: str) -> str:
        """The placeholder of a value: the same one whenever it is asked for."""
        name = self._names.get((entity, value))
        if name is None:
            name = self._next(entity, ())
            self._hold(name, value)
        self.replaced[entity] += 1
        return f"[{name}]"

    def value_of(self, name: str) -> str | None:
        """What a name stands for; None for one that was not given out."""
        return self._values.get(name)

    def as_map(self) -> dict[str, str]:
        """`{EMAIL_1: value}`: what `adopt` takes."""
        return dict(self._values)


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
    _tool_names: dict[Any, str] = field(default_factory=dict)

    def edits(
        self, text: str, start: int, end: int, *, tool: str | None = None, as_json: bool = False, past: str = ""
    ) -> Iterator[tuple[int, int, str]]:
        """(start, end, value) of each placeholder of ours that begins in text[start:end] and becomes its value.

        `tool`: the name of the tool whose arguments the text is, None for running text. `as_json`: the value is
        written as part of a JSON string. `past`: what stood before the text.
        """
        if not self._may_have(text, start):
            return
        for match in _PLACEHOLDER.finditer(text, max(0, start - 1)):
            if not start <= match.start() < end:
                continue
            name = _name_of(match)
            value = self.placeholders.value_of(name)
            if value is None:
                continue
            entity = name.rpartition("_")[0]
            if not (self._may_restore(tool) if tool is not None else self._is_free(text, match, past)):
                self.left[entity] += 1
                continue
            self.restored[entity] += 1
            yield match.start() + _kept_backslashes(match, as_json), match.end(), _in_json(value) if as_json else value

    def holdback_start(self, text: str, start: int) -> int:
        """Where a placeholder that is not complete may begin in a text that goes on; the text's length for nowhere."""
        low = max(start, len(text) - MAX_PLACEHOLDER_CHARS)
        opening = text.rfind("[", low)
        if opening < 0:
            return len(text) - (text[low:].endswith("\\"))
        while opening > low and text[opening - 1] == "\\":
            opening -= 1
        return opening if _UNFINISHED.match(text, opening) else len(text)

    def restore(self, slot: TextSlot, data: Json | None = None) -> bool:
        """Restore a whole text in place; whether it has changed. `data`: the answer that holds it."""
        if isinstance(slot, GroupSlot):
            return any([self.restore(member, data) for member in slot.members])  # noqa: C419  each is to be restored
        if slot.form not in ("text", "json", "url") or not slot.is_there:
            return False
        text = slot.text
        tool = self.tool_of(slot, data)
        as_json = slot.form == "json" or self.reads_as_json(text)
        parts, at = list[str](), 0
        for start, end, value in self.edits(text, 0, len(text), tool=tool, as_json=as_json):
            parts += (text[at:start], value)
            at = end
        self.count_bare(text, 0, len(text))
        if parts:
            slot.text = "".join((*parts, text[at:]))
        return bool(parts)

    def restore_again(self, slots: Iterable[TextSlot], *, counts: bool) -> bool:
        """Restore whole texts of a stream; whether one has changed. Without `counts` they repeat texts that came in
        pieces, whose placeholders are counted already."""
        before = self.restored.copy(), self.left.copy()
        changes = [self.restore(slot) for slot in slots]
        if not counts:
            self.restored, self.left = before
        return any(changes)

    def reads_as_json(self, text: str) -> bool:
        """Whether a text, or the beginning of one, is JSON: structured output."""
        return self.is_json or (text[:1] in "{[ \n`" and _JSON_BEGINS.match(text) is not None)

    def count_bare(self, text: str, start: int, end: int) -> None:
        """Count names of ours that lost their brackets as not restored."""
        if "_" not in text:
            return
        text = _PLACEHOLDER.sub(lambda each: " " * len(each.group()), text)
        for match in _BARE.finditer(text, start, end):
            if self.placeholders.value_of(match.group()) is not None:
                self.left[match.group().rpartition("_")[0]] += 1

    def note_tools(self, data: Json) -> None:
        """Remember the names of the tools whose arguments an event of a stream begins (three interfaces)."""
        for choice in data.get("choices") or ():
            for call in (choice.get("delta") or {}).get("tool_calls") or ():
                name = (call.get("function") or call.get("custom") or {}).get("name")
                if name:
                    self._tool_names[choice.get("index"), "call", call.get("index")] = name
        block, item = data.get("content_block"), data.get("item")
        if isinstance(block, dict) and block.get("name"):
            self._tool_names[(data.get("index"),)] = block["name"]
        if isinstance(item, dict) and item.get("name"):
            self._tool_names[item.get("id")] = item["name"]

    def tool_of_channel(self, channel: Any, form: str) -> str | None:
        """The tool whose arguments a channel of a stream holds; None for running text."""
        head = channel[0] if isinstance(channel, tuple) and channel else channel
        name = self._tool_names.get(channel) or self._tool_names.get(head)
        return name or ("" if form == "json" else None)

    def tool_of(self, slot: TextSlot, data: Json | None) -> str | None:
        """The tool whose arguments a whole text is, or belongs to; None for running text."""
        inside = _TOOL_INPUT.match(slot.where) if data is not None else None
        if inside is not None and data is not None:
            content = data.get("content") or ()
            index = int(inside[1])
            return str(content[index].get("name", "")) if index < len(content) else ""
        if slot.key in ("arguments", "input") and isinstance(slot.holder, dict) and "name" in slot.holder:
            return str(slot.holder["name"])
        if isinstance(slot.holder, dict) and slot.holder.get("item_id") in self._tool_names:
            return self._tool_names[slot.holder["item_id"]]
        return "" if slot.form == "json" else None

    def _may_have(self, text: str, start: int) -> bool:
        return bool(self.placeholders) and text.find("[", start) >= 0

    def _may_restore(self, tool: str) -> bool:
        return self.tools if isinstance(self.tools, bool) else tool in self.tools

    def _is_free(self, text: str, match: re.Match[str], past: str) -> bool:
        """Whether a placeholder in running text stands in no http(s) address but one that the caller wrote.

        An address ends at a blank or mark, or where the quotation or bracket ends in which it begins: HTML and Markdown
        allow blanks there, `<img src="https://… [EMAIL_1]">`.
        """
        before = (past + text[: match.start()])[-ADDRESS_REACH_CHARS:]
        begins = [*_ADDRESS_BEGINS.finditer(before)]
        if not begins:
            return len(before) < ADDRESS_REACH_CHARS or _BLANK.search(before) is not None
        start, opening = begins[-1].start(), before[begins[-1].start() - 1 : begins[-1].start()]
        inside = before[start:]
        closing = _CLOSING.get(opening)
        if _BLANK.search(inside) is not None and (closing is None or closing in inside):
            return True
        authority = inside.replace("\\", "").partition("//")[2]
        rest = _REST_OF_ADDRESS.match(text, match.end())
        behind = rest.group() if rest else ""
        if not any(mark in authority for mark in "/?#") and "@" in re.split(r"[/?#]", behind, maxsplit=1)[0]:
            return True  # the user or password of an address
        whole = inside + match.group() + behind
        known = _PLACEHOLDER.sub(lambda each: self.placeholders.value_of(_name_of(each)) or each.group(), whole)
        return known.rstrip(_TRAILING).replace("\\/", "/") in self.addresses


def addresses_of(body: Json) -> frozenset[str]:
    """The http(s) addresses that stand in the caller's own words: messages of the user and the system, instructions.
    What tools and pages have said does not count."""
    found: set[str] = set()
    for text in _own_texts(body):
        at = text.find("//")
        while at >= 0:
            match = _ADDRESS.match(text, max(0, at - 6)) or _ADDRESS.match(text, max(0, at - 5))
            if match is not None:
                found.add(match.group().rstrip(_TRAILING))
            at = text.find("//", at + 2)
    return frozenset(found)


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


def _rename(holder: Any, renamed: Mapping[str, str]) -> None:
    """Write other names into the placeholders of all strings of an item, a dict or list."""

    def other(match: re.Match[str]) -> str:
        name = renamed.get(_name_of(match))
        return f"[{name}]" if name is not None else match.group()

    for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
        if isinstance(value, str) and "[" in value:
            holder[key] = _PLACEHOLDER.sub(other, value)
        elif isinstance(value, dict | list):
            _rename(value, renamed)


def _kept_backslashes(match: re.Match[str], as_json: bool) -> int:
    """Backslashes before the bracket that stay: one of Markdown goes with it, of JSON two do."""
    count = match.group().index("[")
    return count % 2 if as_json else 0


def _in_json(value: str) -> str:
    """A value as part of a JSON string."""
    return orjson.dumps(value).decode()[1:-1]
