"""Hosted web search and web fetch in a messages request and answer: the tools, and the blocks of a call.

A search is a `server_tool_use` block and a `web_search_tool_result`; a page that was opened or searched is shown as
`web_fetch`. Source: Anthropic API reference (web search tool, web fetch tool), SDK anthropic 2.12, read 2026-11-22.
`encrypted_content` and `encrypted_index` are empty: what a search found is stored here, not in the client.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gateway.domain import Json
from gateway.errors import InvalidRequest
from gateway.wire.hosted_answer import HostedCall, Source
from gateway.wire.messages.tools import forced_kind, hosted_kind

_OURS, _ITEM = "srvtoolu_", "ws_"
_CITED_CHARS = 150
"""Characters of `cited_text`, as in the API reference."""


class WebWish(NamedTuple):
    """The hosted web tools of a request. `search`, `fetch`: the tool and its path, None where it is not there.
    `forced`: which of them must be called first, empty for none."""

    search: tuple[Json, str] | None
    fetch: tuple[Json, str] | None
    forced: str

    @property
    def tools(self) -> list[tuple[Json, str]]:
        """Those that are there, with their paths."""
        return [each for each in (self.search, self.fetch) if each is not None]

    @property
    def max_uses(self) -> int | None:
        """Calls of both together; None where one of them has no limit."""
        limits = [int(tool["max_uses"]) for tool, _ in self.tools if tool.get("max_uses") is not None]
        return sum(limits) if len(limits) == len(self.tools) else None


def web_wish(body: Json) -> WebWish | None:
    """The hosted web search and web fetch of a request; None where it has neither. Raises InvalidRequest for two of a
    kind."""
    found: dict[str, tuple[Json, str]] = {}
    for at, tool in enumerate(body.get("tools") or ()):
        if kind := hosted_kind(tool):
            where = f"tools[{at}]"
            if kind in found:
                raise InvalidRequest(f"{where}: {kind} is there already; leave one out", param=where)
            found[kind] = (tool, where)
    return WebWish(found.get("web_search"), found.get("web_fetch"), forced_kind(body)) if found else None


def open_calls(messages: Sequence[Json]) -> list[str]:
    """Ids of the server's calls in the turn that is not over: behind the last message in which a user says anything."""
    ids: list[str] = []
    for message in reversed(messages):
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text"}]
        if message["role"] == "user" and any(block["type"] != "tool_result" for block in blocks):
            break
        if message["role"] == "assistant":
            ids += [str(block.get("id")) for block in blocks if block["type"] == "server_tool_use"]
    return ids


def block_id(item_id: str) -> str:
    """The id of the `server_tool_use` block of a call."""
    return _OURS + item_id.removeprefix(_ITEM)


def item_id(block: str) -> str:
    """The id of the call of a block."""
    return _ITEM + block.removeprefix(_OURS)


def call_blocks(call: HostedCall) -> Iterator[Json]:
    """The two blocks of a call that has ended."""
    made, kind = block_id(call.item_id), str(call.action.get("type") or "search")
    name = "web_search" if kind == "search" else "web_fetch"
    given = {key: value for key, value in call.action.items() if key in ("query", "url", "pattern")}
    yield {"type": "server_tool_use", "id": made, "name": name, "input": given}
    content: Json | list[Json]
    if call.status == "failed":
        content = {"type": f"{name}_tool_result_error", "error_code": "unavailable"}
    elif kind == "search":
        content = [_result(each) for each in call.results]
    else:
        text = {"type": "text", "media_type": "text/plain", "data": call.output}
        document = {"type": "document", "source": text, "title": None, "citations": None}
        content = {"type": "web_fetch_result", "url": call.action.get("url") or "", "content": document}
    yield {"type": f"{name}_tool_result", "tool_use_id": made, "content": content}


def citations_of(sources: Sequence[Source], contents: dict[str, str]) -> tuple[Json, ...]:
    """The citations of a text. `contents`: what was shown of each page, by its URL."""
    return tuple(
        {
            "type": "web_search_result_location",
            "url": source.url,
            "title": source.title,
            "cited_text": contents.get(source.url, "")[:_CITED_CHARS],
            "encrypted_index": "",
        }
        for source in sources
    )


def _result(result: Json) -> Json:
    date = result.get("published_date")
    return {
        "type": "web_search_result",
        "url": str(result.get("url") or ""),
        "title": str(result.get("title") or ""),
        "encrypted_content": "",
        "page_age": date if isinstance(date, str) else None,
    }
