"""Composition of the responses route and of what surrounds it."""

from dataclasses import dataclass

from gateway.access.tokens import TokenCounts
from gateway.app.shared import SharedParts
from gateway.config.settings import Config
from gateway.services.completion.service import CompletionService
from gateway.services.responses.background import Runs
from gateway.services.responses.compaction import Compactor
from gateway.services.responses.conversations import Conversations
from gateway.services.responses.store import ResponseStore
from gateway.web.handlers.background import BackgroundResponses
from gateway.web.handlers.compact import CompactHandler
from gateway.web.handlers.conversations import ConversationsHandler
from gateway.web.handlers.file_parts import FileParts
from gateway.web.handlers.hosted import HostedResponses
from gateway.web.handlers.responses import Kept, ResponsesHandler
from gateway.web.handlers.websocket import SocketHandler, SocketSettings


@dataclass(frozen=True, slots=True)
class ResponseParts:
    """The handlers, and the background runs of this process."""

    responses: ResponsesHandler
    background: BackgroundResponses
    compact: CompactHandler
    conversations: ConversationsHandler
    sockets: SocketHandler
    runs: Runs


def response_parts(
    config: Config,
    shared: SharedParts,
    completions: CompletionService,
    hosted: HostedResponses,
    files: FileParts,
    tokens: TokenCounts,
) -> ResponseParts:
    """Everything of the responses route."""
    store = ResponseStore(shared.responses, config.shared.response_ttl_s)
    runs = Runs(store, shared.runs, shared.windows, shared.bus, config.responses.background)
    conversations = Conversations(shared.conversations, shared.windows, config.responses.conversations)
    compactor = Compactor(completions, shared.sealer)
    kept = Kept(store, conversations, compactor, BackgroundResponses(runs, store), tokens)
    responses = ResponsesHandler(completions, kept, hosted, files)
    settings = SocketSettings(config.server.websocket, config.server.websocket_per_key, config.server.max_body_bytes)
    return ResponseParts(
        responses,
        kept.background,
        CompactHandler(completions, kept),
        ConversationsHandler(conversations, kept.compactor),
        SocketHandler(responses, shared.windows, settings),
        runs,
    )
