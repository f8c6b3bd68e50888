"""Composition of the responses route and of what surrounds it."""

from dataclasses import dataclass

from gateway.access.token_counts import TokenCounts
from gateway.app.shared import SharedParts
from gateway.config.settings import Config
from gateway.services.completion.service import CompletionService
from gateway.services.file_parts import FileParts
from gateway.services.hosted_tools.hosted_responses import HostedResponses
from gateway.services.responses.background import Runs
from gateway.services.responses.compaction import Compactor
from gateway.services.responses.conversations import Conversations
from gateway.services.responses.masking_maps import MaskingMaps
from gateway.services.responses.store import ResponseStore
from gateway.web.handlers.background import BackgroundResponses
from gateway.web.handlers.compact import CompactHandler
from gateway.web.handlers.conversations import ConversationsHandler
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
    maps = MaskingMaps(shared.sealer, store)
    compactor, background = Compactor(completions, shared.sealer), BackgroundResponses(runs, store, maps)
    kept = Kept(store, conversations, compactor, maps, runs, background, tokens)
    responses = ResponsesHandler(completions, kept, hosted, files)
    server = config.server
    settings = SocketSettings(server.websocket, server.websocket_per_key, server.max_body_bytes, server.body_timeout_s)
    return ResponseParts(
        responses,
        background,
        CompactHandler(completions, kept),
        ConversationsHandler(conversations, compactor, maps),
        SocketHandler(responses, shared.windows, settings),
        runs,
    )
