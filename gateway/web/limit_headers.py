"""The headers with what is left of a caller's limits. Knows no limiter.

Sources: draft-ietf-httpapi-ratelimit-headers-11 (`RateLimit-Policy`, `RateLimit`: lists of quoted names with quota `q`,
window `w`, remaining `r` and seconds until it grows `t`), OpenAI API reference, "Rate limits" (`x-ratelimit-*`), read
2026-11-22.
"""

import math
from collections.abc import Mapping

from gateway.access.rate_limits import LimitState

_WINDOWS_S = {"requests": 60, "tokens-minute": 60, "tokens-day": 86_400, "tool-calls-day": 86_400}
"""The length of each limit's period. A key's spend is in no header: it is a sum of money, not a count."""

_OPENAI = {"requests": "requests", "tokens-minute": "tokens"}
"""The limits that OpenAI's headers have, and their names there."""


def limit_headers(limits: Mapping[str, LimitState]) -> dict[str, str]:
    """Headers for the limits of one request, by name; a limit without a known period is left out."""
    policies, states, headers = [], [], {}
    for name, window_s in _WINDOWS_S.items():
        state = limits.get(name)
        if state is None:
            continue
        policies.append(f'"{name}";q={state.limit};w={window_s}')
        states.append(f'"{name}";r={state.remaining};t={math.ceil(state.reset_s)}')
        if openai := _OPENAI.get(name):
            headers[f"x-ratelimit-limit-{openai}"] = str(state.limit)
            headers[f"x-ratelimit-remaining-{openai}"] = str(state.remaining)
            headers[f"x-ratelimit-reset-{openai}"] = f"{math.ceil(state.reset_s)}s"
    if policies:
        headers["RateLimit-Policy"] = ", ".join(policies)
        headers["RateLimit"] = ", ".join(states)
    return headers
