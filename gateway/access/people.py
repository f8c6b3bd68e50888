"""Who asks with a key: the user and the session that a request names. Usage is summed by their hashes.

Sources: OpenAI API reference (`user`, `safety_identifier`, `prompt_cache_key`), Anthropic API reference
(`metadata.user_id`), and what Claude Code 2.1.330 and Codex CLI 0.171 send; read 2026-11-29.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from typing import Any

from gateway.domain import Json
from gateway.wire.untrusted_json import object_in

KINDS = ("user", "session")
_SESSION_HEADERS = ("x-session-id", "x-claude-code-session-id", "session-id", "session_id")
_CLAUDE_CODE = re.compile(r"(user_\w{1,128}?)_account_([\w-]{0,128}?)_session_([\w-]{1,128})?")
_MAX_CHARS = 4096


class People:
    """Names users and sessions by their hashes. `digest`: the hash of a name."""

    def __init__(self, digest: Callable[[str], str]) -> None:
        self._digest = digest

    def of(self, body: Any, headers: Mapping[str, str]) -> tuple[str, ...]:
        """Those that a request names: `("user_1f…", "session_77…")`, one of them, or none."""
        fields = body if isinstance(body, dict) else {}
        metadata = fields.get("metadata")
        user = fields.get("user") or (metadata.get("user_id") if type(metadata) is dict else None)
        user = user or fields.get("safety_identifier")
        session = fields.get("prompt_cache_key")
        for name in _SESSION_HEADERS:
            session = headers.get(name) or session
        if not user and not session:
            return ()
        session = session or (session_of(user) if isinstance(user, str) else "")
        found = {"user": account_of(user) if isinstance(user, str) else "", "session": session}
        return tuple(self.hashed(kind, name) for kind, name in found.items() if isinstance(name, str) and name)

    def hashed(self, kind: str, name: str) -> str:
        """`user_` or `session_`, and the hash of a name."""
        return f"{kind}_{self._digest(name[:_MAX_CHARS])}"


def digest(key: bytes, name: str) -> str:
    """32 hex digits, an HMAC of the name of a user or session."""
    return hmac.new(key, name.encode(errors="replace"), hashlib.sha256).hexdigest()[:32]


def account_of(user: str) -> str:
    """Who a user is: of what Anthropic's clients send, which names a session too, the account.

    account_of("user_1f_account_9b-2c_session_77")  # "9b-2c"
    """
    if found := _CLAUDE_CODE.match(user):
        return found[2] or found[1]
    fields = _fields(user)
    return str(fields.get("account_uuid") or fields.get("device_id") or user)


def session_of(user: str) -> str:
    """The session in what Anthropic's clients send for a user; empty where there is none."""
    found = _CLAUDE_CODE.match(user)
    return str((found[3] if found else _fields(user).get("session_id")) or "")


def _fields(user: str) -> Json:
    return object_in(user) or {} if user.startswith("{") else {}
