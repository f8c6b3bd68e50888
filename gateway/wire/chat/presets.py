"""The rules of an upstream's parameters: those of its make, and the operator's.

schemas/presets.json has the rules of each make, with the page of its maker's reference that demands them.

    rules_of({"preset": "deepseek", "drop": ["seed"]}).applied({"max_completion_tokens": 9, "seed": 1})
    # {"max_tokens": 9}
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gateway.domain import Json
from gateway.schemas import load
from gateway.wire.parameters import Rules


def _rules_in(preset: Mapping[str, Any]) -> Rules:
    members: Json = {name: frozenset(value) if isinstance(value, list) else value for name, value in preset.items()}
    members.pop("$comment", None)
    return Rules(**members)


PRESETS: Mapping[str, Rules] = {name: _rules_in(preset) for name, preset in load("presets")["x-presets"].items()}
"""The rules of each make of upstream; none under the empty name."""


def rules_of(settings: Mapping[str, Any]) -> Rules:
    """The rules of `{preset?, rename?, drop?, set?, cache_control?}`: the preset's, and the operator's, which win."""
    base = PRESETS[settings.get("preset") or ""]
    return replace(
        base,
        rename={**base.rename, **settings.get("rename", {})},
        drop=base.drop | frozenset(settings.get("drop", ())),
        set={**base.set, **settings.get("set", {})},
        caches=base.caches or settings.get("cache_control") is True,
    )
