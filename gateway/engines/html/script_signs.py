"""Tells pages whose text only scripts can show from pages that merely have scripts.

Runs in the parsing processes, on the document before anything is taken out of it. The rules and their figures: a page
of few words, and one sign that an application would draw more (`ScriptSigns`). Knows no browser.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gateway.engines.answer.word_count import count_words
from gateway.engines.html.dom import values_of

FEW_WORDS = 50
"""A text of so many words is a page of its own, whatever draws it. From the trial (facts of rendering, 2026-11-22): of
2,008 labelled pages 23 are single-page applications, whose text without scripts is a name and a notice."""
_MOUNT_WORDS = 20
"""An application's mount node with fewer words is empty but for a splash screen."""
_SCRIPT_SHARE = 5
"""Scripts so many times as long as the text draw more than there is."""
_MOUNTS = frozenset({"root", "app", "__next", "__nuxt", "___gatsby", "svelte", "q-app"})
_DATA_TYPES = re.compile(r"json|template|text/(plain|html)", re.IGNORECASE)
_ASKS = re.compile(r"java\s?script", re.IGNORECASE)
_MAX_MOUNTS = 20
"""Nodes that are looked at: a page has one, and a hostile one may have as many as it likes."""


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
