"""The table of every product route: method, path, handler, dialect, scopes, body check."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gateway.app.responses import ResponseParts
from gateway.mcp.dialect import WebSearchDialect
from gateway.web.endpoints import Check, Endpoint, EndpointTable, Handler, Reads
from gateway.web.handlers.admin import MAX_PREVIEW_BYTES, AdminHandler, AdminKeysHandler
from gateway.web.handlers.chat import ChatHandler
from gateway.web.handlers.embeddings import EmbeddingsHandler
from gateway.web.handlers.mcp import WebSearchHandler
from gateway.web.handlers.messages import MessagesHandler
from gateway.web.handlers.models import ModelsHandler
from gateway.web.handlers.websocket import SocketHandler
from gateway.web.request_log import ADMIN
from gateway.wire.chat.dialect import ChatDialect
from gateway.wire.embeddings import EmbeddingsDialect
from gateway.wire.messages.dialect import MessagesDialect
from gateway.wire.responses.dialect import ResponsesDialect


@dataclass(frozen=True, slots=True)
class Handlers:
    """One handler object for each interface; a row of the table names a method of one."""

    mcp: WebSearchHandler
    chat: ChatHandler
    responses: ResponseParts
    messages: MessagesHandler
    embeddings: EmbeddingsHandler
    models: ModelsHandler


def endpoint_table(
    base_path: str, handlers: Handlers, more: Iterable[Endpoint] = (), mounted_at: str = ""
) -> EndpointTable:
    """Every product route, and `more`. A caller's key needs one of the scopes; a route without scopes takes any valid
    key. `mounted_at`: see `EndpointTable`; below it the console asks for models by itself, which is not counted."""
    mcp, chat, models = handlers.mcp, handlers.chat, handlers.models
    chat_form, on_chat = ChatDialect(), frozenset({"chat", "ocr"})
    rows = [
        Endpoint("chat", "POST", "/v1/chat/completions", chat.handle, chat_form, on_chat, chat.check),
        *_responses_rows(handlers.responses),
        *_messages_rows(handlers.messages),
        Endpoint(
            "embeddings", "POST", "/v1/embeddings", handlers.embeddings.handle, EmbeddingsDialect(),
            frozenset({"embeddings"}), handlers.embeddings.check, max_body_bytes=handlers.embeddings.max_body_bytes),
        *(Endpoint(
            ADMIN if mounted_at else "models", "GET", path, handler, chat_form, charged=not mounted_at,
            is_light=bool(mounted_at), error_forms={"anthropic-version": MessagesDialect()})
          for path, handler in (("/v1/models", models.listing), ("/v1/models/{model}", models.one))),
        Endpoint(
            "websearch", "POST", "/tools/websearch/mcp", mcp.handle, WebSearchDialect(), frozenset({"web-search"}),
            mcp.check, charged=False, max_body_bytes=mcp.max_body_bytes),
    ]  # fmt: skip
    return EndpointTable([*rows, *more], base_path, mounted_at)


def admin_rows(admin: AdminHandler, keys: AdminKeysHandler) -> list[Endpoint]:
    """The console's data. What a page asks for every few seconds takes nothing from its key's limits."""
    form, scope = ChatDialect(), frozenset({"admin"})
    asked = {
        "usage": admin.usage, "requests": admin.requests, "history": admin.history, "status": admin.status,
        "errors": admin.errors, "upstreams": admin.upstreams, "configuration": admin.configuration,
        "keys": keys.listing,
    }  # fmt: skip
    return [
        *(Endpoint(ADMIN, "GET", f"/admin/{name}", handler, form, scope, charged=False, is_light=True)
          for name, handler in asked.items()),
        Endpoint(ADMIN, "POST", "/admin/keys", keys.create, form, scope, keys.check, max_body_bytes=4096),
        Endpoint(ADMIN, "POST", "/admin/keys/{key_id}/rotate", keys.rotate, form, scope),
        Endpoint(ADMIN, "DELETE", "/admin/keys/{key_id}", keys.revoke, form, scope),
        Endpoint(
            ADMIN, "PATCH", "/admin/keys/{key_id}", keys.edit, form, scope, keys.check_changes, max_body_bytes=4096),
        Endpoint(
            ADMIN, "POST", "/admin/sanitize", admin.sanitize, form, scope, admin.check,
            max_body_bytes=MAX_PREVIEW_BYTES),
    ]  # fmt: skip


def socket_row(sockets: SocketHandler) -> Endpoint:
    """Responses over WebSocket. The ops listener, which asks for no key of its own, has none."""
    return Endpoint(
        "websocket", "GET", "/v1/responses", sockets.handle, ResponsesDialect(), frozenset({"responses"}),
        charged=False, covered_by="responses", is_socket=True)  # fmt: skip


def _responses_rows(parts: ResponseParts) -> list[Endpoint]:
    form, scope, one = ResponsesDialect(), frozenset({"responses"}), "/v1/responses/{response_id}"
    responses, background, compact, talks = parts.responses, parts.background, parts.compact, parts.conversations

    def row(
        method: str,
        path: str,
        handler: Handler,
        check: Check | None = None,
        reads: Reads | None = None,
        *,
        name: str = "responses",
    ) -> Endpoint:
        is_light = check is None  # a run that holds the key's last slot can be looked at
        return Endpoint(
            name, method, path, handler, form, scope, check, charged=method != "GET", covered_by="responses",
            is_light=is_light, reads=reads)  # fmt: skip

    talk = "/v1/conversations/{conversation_id}"
    return [
        row("POST", "/v1/responses", responses.create, responses.check, responses.reads),
        row("POST", "/v1/responses/compact", compact.compact, compact.check, compact.reads),
        row("POST", "/v1/responses/input_tokens", compact.count, compact.check_count, compact.reads),
        row("GET", one, background.retrieve),
        row("DELETE", one, background.delete),
        row("POST", f"{one}/cancel", background.cancel),
        row("GET", f"{one}/input_items", responses.input_items),
        replace(row("POST", "/v1/conversations", talks.create, talks.check, name="conversations"), may_be_empty=True),
        row("GET", talk, talks.retrieve, name="conversations"),
        row("POST", talk, talks.update, talks.check, talks.reads, name="conversations"),
        row("DELETE", talk, talks.delete, name="conversations"),
        row("GET", f"{talk}/items", talks.items, name="conversations"),
        row("POST", f"{talk}/items", talks.add, talks.check, talks.reads, name="conversations"),
        row("GET", f"{talk}/items/{{item_id}}", talks.item, name="conversations"),
        row("DELETE", f"{talk}/items/{{item_id}}", talks.remove, name="conversations"),
    ]


def _messages_rows(messages: MessagesHandler) -> list[Endpoint]:
    """Anthropic's interface to the chat models: sanitized wherever `sanitize.routes` names `chat`."""
    form, scope, path = MessagesDialect(), frozenset({"chat"}), "/v1/messages"

    def row(path: str, handler: Handler, check: Check) -> Endpoint:
        return Endpoint(
            "messages", "POST", path, handler, form, scope, check, covered_by="chat", id_header="Request-Id"
        )

    return [
        row(path, messages.create, messages.check),
        row(f"{path}/count_tokens", messages.count, messages.check_count),
    ]
