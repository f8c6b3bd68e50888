"""The names under which a chat model sees the caller's tools, and the way back.

Chat has plain functions only, with names of at most 64 characters. The responses route has functions, custom tools
and built-in tools, some of them in namespaces. Source: OpenAI API reference (Responses, Chat Completions) and the
requests of Codex CLI 0.169, read 2026-11-22.
"""

import hashlib
import itertools
import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

MAX_NAME_CHARS = 64
"""Longest name of a function on the chat route, from OpenAI's API reference."""

_DIGEST_CHARS = 8
"""Hexadecimal digits at the end of a shortened name: two of 256 tools share 32 bits once in 130,000 requests."""

_NOT_TAKEN = re.compile(r"[^A-Za-z0-9_-]")
"""Characters that names of functions may not have, from the same reference."""


class ToolRef(NamedTuple):
    """A tool as its caller names it. `kind` is the tool's type (`function`, `custom`, `shell` …)."""

    kind: str
    name: str
    namespace: str = ""


class ToolNames:
    """The names of one request's tools. `reserved` are names that no tool of the caller may get.

    A function outside of a namespace keeps its name, unless it is reserved or too long. Any other tool is called
    `NAMESPACE__NAME`. What is too long, or taken, is shortened and gets a digest.
    """

    def __init__(self, refs: Iterable[ToolRef] = (), reserved: Collection[str] = ()) -> None:
        self._names: dict[ToolRef, str] = {}
        self._refs: dict[str, ToolRef] = {}
        self._reserved = frozenset(reserved)
        for ref in sorted(dict.fromkeys(refs), key=lambda ref: not _is_plain(ref)):
            name = self._free_name(ref)
            self._names[ref] = name
            self._refs[name] = ref

    def name_of(self, ref: ToolRef) -> str:
        """The name for the model. A tool that was not declared (the history has calls of such) gets a free one."""
        return self._names.get(ref) or self._free_name(ref)

    def ref_of(self, name: str) -> ToolRef:
        """The tool that the model means. A name that it has invented is a function's, which the caller will refuse."""
        return self._refs.get(name) or ToolRef("function", name)

    def _free_name(self, ref: ToolRef) -> str:
        wanted = f"{ref.namespace}__{ref.name}" if ref.namespace else ref.name
        if not _is_plain(ref):
            wanted = _NOT_TAKEN.sub("_", wanted)
        if len(wanted) <= MAX_NAME_CHARS and self._is_free(wanted):
            return wanted
        digest = hashlib.sha256("\0".join(ref).encode()).hexdigest()[:_DIGEST_CHARS]
        for number in itertools.count():
            end = f"_{digest}" + (f"_{number}" if number else "")
            name = wanted[: MAX_NAME_CHARS - len(end)] + end
            if self._is_free(name):
                return name
        raise AssertionError("numbers do not end")

    def _is_free(self, name: str) -> bool:
        return name not in self._refs and name not in self._reserved


def _is_plain(ref: ToolRef) -> bool:
    return ref.kind == "function" and not ref.namespace
