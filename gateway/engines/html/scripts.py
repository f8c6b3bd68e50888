"""Reads the text that a page carries as data for its own scripts, and tells pages that only a browser can show.

Read are `__NEXT_DATA__` and its like, `self.__next_f.push` (the flight data of Next's app router) and JSON-LD. Nothing
is trusted: the data may be anything, or as long as a page. Forms read 2026-11-22. Runs in the parsing processes.
"""

import html
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.engines.html.tree import values_of
from gateway.engines.words.text import count_words

_MAX_CHARS = 2_000_000  # data read of one page
_MAX_VALUES = 50_000
_MAX_TEXT_CHARS = 200_000
_MAX_DEPTH = 60
_LEAST_WORDS = 4  # a string of fewer words is a name, a class or a setting, unless its key says that it is a heading
_HEADINGS = frozenset({"title", "headline", "heading", "name", "subtitle"})
_SETTINGS = re.compile(
    r"class|style|css|svg|path|query|token|key|config|locale|message|translation|cookie|consent", re.I
)
_AMOUNTS = ("value", "amount", "price")
_CURRENCIES = ("currency", "currencyCode", "priceCurrency")
_FACT_NAMES = (*_CURRENCIES, "name", "label")
_FACT_CHARS = 80  # longest name or value of a pair
_FACT_FIELDS = 4  # most fields of an object that is a pair and no more: a unit and an id stand beside it
_STATE_IDS = frozenset({"__NEXT_DATA__", "__NUXT_DATA__", "__APOLLO_STATE__", "__remixContext", "ng-state"})
_FLIGHT = "self.__next_f.push("
_BLOCK_END = re.compile(r"</(?:p|li|h[1-6]|div|tr|blockquote|pre|section|article)>|<br ?/?>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{1,500}>")
_SPACE = re.compile(r"[ \t\r\f\v]+")
_WORD = re.compile(r"\w+")
_CODE = re.compile(r"[{};]\s*$|^\s*[.#@]?[\w-]+\s*\{|^https?://\S+$|^[\w/+=-]{40,}$")
_ROW = re.compile(r"^[0-9a-f]{1,8}:(.*)$", re.DOTALL)
_SILENT_TAGS = frozenset({"script", "style", "meta", "link", "title", "noscript", "svg", "template", "head"})
_INLINE_TAGS = frozenset({"a", "abbr", "b", "code", "em", "i", "mark", "small", "span", "strong", "sub", "sup", "time"})


class EmbeddedState:
    """The data of a document's scripts: noted at once, as they are removed later, and read when its text is wanted."""

    def __init__(self, root: Any) -> None:
        self._sources: list[tuple[bool, str]] = []
        """(is flight data, source)."""
        self._json_ld: list[str] = []
        left = _MAX_CHARS
        for script in root.iter("script"):
            source = script.text or ""
            is_flight = source.lstrip().startswith(_FLIGHT)
            if len(source) <= left and "ld+json" in (script.get("type") or "").lower():
                left -= len(source)
                self._json_ld.append(source)
            elif len(source) <= left and (is_flight or script.get("id") in _STATE_IDS):
                left -= len(source)
                self._sources.append((is_flight, source))

    def described(self) -> str:
        """What the page's JSON-LD says in sentences, and the entries of its lists; empty when there is none."""
        budget = _Budget()
        parts = [part for source in self._json_ld for part in _prose(_decoded(source), budget)]
        return "\n\n".join(dict.fromkeys(part for part in parts if part))[:_MAX_TEXT_CHARS]

    def text(self) -> str:
        """The prose of the data, in paragraphs; empty when there is none."""
        budget = _Budget()
        parts: list[str] = []
        for is_flight, source in self._sources:
            if not is_flight:
                parts += _prose(_decoded(source), budget)
        flight = "".join(_pushed(source.strip()) for is_flight, source in self._sources if is_flight)
        parts += _flight_texts(flight, budget)
        text = "\n\n".join(dict.fromkeys(part for part in parts if part))
        return text[:_MAX_TEXT_CHARS]


class _Budget:
    """Values that may still be read of one page."""

    def __init__(self) -> None:
        self.values = _MAX_VALUES


def _decoded(source: str) -> Any:
    try:
        return orjson.loads(source)
    except orjson.JSONDecodeError:
        return None


def _pushed(source: str) -> str:
    """The text of one `self.__next_f.push([1, "…"])`."""
    value = _decoded(source.removeprefix(_FLIGHT).rstrip().rstrip(";").removesuffix(")"))
    is_text = isinstance(value, list) and len(value) == 2 and isinstance(value[1], str)
    return value[1] if is_text else ""


def _prose(value: Any, budget: _Budget, key: str = "", depth: int = 0) -> Iterator[str]:
    """Sentences and headings among the strings of a decoded value, in its order."""
    budget.values -= 1
    if budget.values < 0 or depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        fact = _fact(value)
        if fact:
            yield fact
        if fact and len(value) <= _FACT_FIELDS:
            return
        for name, inner in value.items():
            if not _SETTINGS.search(name):
                yield from _prose(inner, budget, name, depth + 1)
    elif isinstance(value, list):
        if value and all(isinstance(each, str) and " " in each for each in value):
            yield "\n".join(f"- {text}" for each in value if (text := _plain(each)))  # ingredients, steps
            return
        for inner in value:
            yield from _prose(inner, budget, key, depth + 1)
    elif isinstance(value, str) and value:
        text = _plain(value)
        words = len(_WORD.findall(text[:1_000]))
        if words >= _LEAST_WORDS or (words and key.lower() in _HEADINGS and " " in text):
            yield text


def _fact(value: dict[str, Any]) -> str:
    """A pair such as `{"name": "Weight", "value": "410 g"}`, or an amount of money, on one line; else empty."""
    amount = next((value[key] for key in _AMOUNTS if isinstance(value.get(key), int | float | str)), None)
    for key in _FACT_NAMES:
        name = value.get(key)
        if isinstance(name, str) and name and amount is not None and not isinstance(amount, bool):
            text = _plain(str(amount))
            is_short = 0 < len(text) <= _FACT_CHARS and len(name) <= _FACT_CHARS
            if is_short and key in _CURRENCIES:
                return f"{text} {name}" if len(name) <= len("EUR") else ""
            return f"{name}: {text}" if is_short and "value" in value else ""
    return ""


def _plain(value: str) -> str:
    """A string without markup; empty for code, addresses and tokens."""
    text = value
    if "<" in text:
        text = html.unescape(_TAG.sub("", _BLOCK_END.sub("\n\n", text)))
    if _CODE.search(text[:2_000]):
        return ""
    return "\n".join(_SPACE.sub(" ", line).strip() for line in text.split("\n")).strip()


def _flight_texts(stream: str, budget: _Budget) -> list[str]:
    """The blocks of the elements in rows `ID:JSON`; a row of another form is left out."""
    texts: list[str] = []
    for line in stream.split("\n"):
        match = _ROW.match(line)
        value = _decoded(match[1]) if match is not None and match[1][:1] in ("[", "{") else None
        if value is not None:
            current: list[str] = []
            _read_elements(value, texts, current, (budget, 0))
            _end_block(texts, current)
    return [text for text in texts if len(_WORD.findall(text[:200])) > 1]


def _read_elements(value: Any, texts: list[str], current: list[str], left: tuple[_Budget, int]) -> None:
    """Appends the text of elements `["$", tag, key, properties]` to `current`, which a block element ends."""
    budget, depth = left
    budget.values -= 1
    if budget.values < 0 or depth > _MAX_DEPTH:
        return
    inner = (budget, depth + 1)
    if isinstance(value, str):
        if value and not value.startswith("$"):
            current.append(value)
    elif isinstance(value, list) and len(value) >= 4 and value[0] == "$" and isinstance(value[1], str):
        tag, properties = value[1], value[3]
        if tag in _SILENT_TAGS or not isinstance(properties, dict):
            return
        if tag not in _INLINE_TAGS:
            _end_block(texts, current)
        _read_elements(properties.get("children"), texts, current, inner)
        raw = properties.get("dangerouslySetInnerHTML")
        if isinstance(raw, dict) and isinstance(raw.get("__html"), str):
            current.append(_plain(raw["__html"]))
        if tag not in _INLINE_TAGS:
            _end_block(texts, current)
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, str | list):
                _read_elements(each, texts, current, inner)


def _end_block(texts: list[str], current: list[str]) -> None:
    text = _SPACE.sub(" ", "".join(current)).strip()
    if text:
        texts.append(text)
    current.clear()


FEW_WORDS = 50
"""A text of so many words is a page of its own, whatever draws it. From the trial (facts of rendering, 2026-11-22): of
2,008 labelled pages 23 are single-page applications, whose text without scripts is a name and a notice."""
_MOUNT_WORDS = 20  # an application's mount node with fewer words is empty but for a splash screen
_SCRIPT_SHARE = 5  # scripts so many times as long as the text draw more than there is
_MOUNTS = frozenset({"root", "app", "__next", "__nuxt", "___gatsby", "svelte", "q-app"})
_DATA_TYPES = re.compile(r"json|template|text/(plain|html)", re.IGNORECASE)
_ASKS = re.compile(r"java\s?script", re.IGNORECASE)
_MAX_MOUNTS = 20  # nodes that are looked at: a page has one, and a hostile one may have as many as it likes


@dataclass(frozen=True, slots=True)
class ScriptSigns:
    """`has_empty_mount`: an application's node waits to be filled. `script_chars`: of programs in the page itself, and
    for each loaded one as if it were a line. `asks`: a notice says that the page needs JavaScript."""

    has_empty_mount: bool
    script_chars: int
    asks: bool

    def needs_browser(self, text: str) -> bool:
        """Whether the page, of which `text` is what can be read without scripts, seems to need a browser."""
        if count_words(text, FEW_WORDS) >= FEW_WORDS:
            return False
        return self.has_empty_mount or self.asks or self.script_chars > _SCRIPT_SHARE * max(len(text), 1)


def read_signs(root: Any) -> ScriptSigns:
    """The signs of a whole document."""
    script_chars = 0
    for script in root.iter("script"):
        if not _DATA_TYPES.search(script.get("type") or ""):
            script_chars += len(script.text or "") + 80 * bool(script.get("src"))
    if not script_chars:
        return ScriptSigns(False, 0, False)
    has_empty_mount = any(_is_empty(mount) for mount in itertools.islice(_mounts(root), _MAX_MOUNTS))
    asks = any(_ASKS.search("".join(note.itertext())) for note in root.iter("noscript"))
    return ScriptSigns(has_empty_mount, script_chars, asks)


def _mounts(root: Any) -> Iterator[Any]:
    """The nodes that applications fill."""
    yield from root.iter("app-root")
    if not _MOUNTS.isdisjoint(values_of("id", root)):
        yield from (element for element in root.iter() if element.get("id") in _MOUNTS)


def _is_empty(mount: Any) -> bool:
    words = 0
    for element in mount.iter():
        if element.tag in ("script", "style", "noscript", "template"):
            continue
        pieces = [element.text or "", *(child.tail or "" for child in element)]
        words += sum(count_words(piece, _MOUNT_WORDS) for piece in pieces)
        if words >= _MOUNT_WORDS:
            return False
    return True
