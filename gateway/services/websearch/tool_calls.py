"""A call of a web tool, from its checked arguments to the `{success, data}` that is its outcome."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway.domain import Json
from gateway.errors import GatewayError
from gateway.texts import ScanToken, TextSlot
from gateway.wire.text_walk import text_slots


@dataclass(slots=True)
class ToolCall:
    """A call of a tool from its check to its outcome.

    `request` is what `Tool.run` takes, made from `arguments`. Calls with equal arguments share one `scan_token`.
    `trace_parent`: what its `_meta.traceparent` becomes for upstreams (`gateway.trace`). `cache_key`: the arguments as
    JSON bytes, as they came. `is_shared`: arguments and request belong to other calls too, so they must not be changed.
    `error`, once set, is the outcome. `slots` and `originals`: the texts after and before sanitizing, empty where
    nothing was scanned. `findings`: the report on the arguments (`wire.sanitizer_report`).
    """

    tool: str
    arguments: Json
    scan_token: ScanToken
    request: Any
    cache_key: bytes
    is_shared: bool = False
    progress_token: str | int | None = None
    trace_parent: str | None = None
    error: GatewayError | None = None
    slots: Sequence[TextSlot] = ()
    originals: Sequence[str] = ()
    findings: Json | None = None

    def texts(self) -> list[TextSlot]:
        """Every string of the arguments, at any depth. The arguments are this call's own from here on."""
        if self.is_shared:
            self.arguments = copy.deepcopy(self.arguments)
        self.slots = slots = text_slots(self.arguments)
        self.originals = [slot.text for slot in slots]
        return slots

    def masked(self) -> list[str]:
        """Paths of the strings that the sanitizer changed (`include_domains[0]`)."""
        pairs = zip(self.slots, self.originals, strict=True)
        return [slot.where for slot, original in pairs if slot.text != original]


def succeeded(data: Json) -> Json:
    """`{"success": true, "data": data}`."""
    return {"success": True, "data": data}


def failed(error: GatewayError) -> Json:
    """`{"success": false, "data": {"error": {type, message, retryable, param?, retry_after_s?}}}`.

    The message says what to correct, and quotes an upstream where it gave a reason. What could be answered all the
    same is in `data` before the error.
    """
    text = error.message if error.quoted is None else f"{error.message} It says: {error.quoted}"
    body: Json = {"type": error.type, "message": text, "retryable": error.retryable}
    if error.param is not None:
        body["param"] = error.param
    if error.retry_after_s is not None:
        body["retry_after_s"] = round(error.retry_after_s, 3)
    return {"success": False, "data": {**(error.partial or {}), "error": body}}
