"""What a country's numbering plan says of a number after `+`, at a tenth of what parsing it costs.

Answers are `phonenumbers`' own, from the same metadata. Not answered is where its parser would first strip something
from the number: a trunk prefix, or signs that are neither digits nor the usual separators.
"""

import re
from functools import lru_cache
from typing import Literal, TypeAlias

import phonenumbers
from phonenumbers import PhoneMetadata, PhoneNumberDesc

Judgement: TypeAlias = Literal["valid", "possible", "none", "unknown"]
_PUNCTUATION = b" -.()/"
_KINDS = (
    "fixed_line", "mobile", "toll_free", "premium_rate", "shared_cost", "personal_number", "voip", "pager", "uan",
    "voicemail",
)  # fmt: skip
_NON_GEOGRAPHIC = "001"
_PLANS = {
    str(code).encode(): (str(code).encode(), regions)
    for code, regions in phonenumbers.COUNTRY_CODE_TO_REGION_CODE.items()
}
"""By country code, of which none begins another."""


def judge(raw: bytes) -> Judgement:
    """`raw` is what stands behind the `+`, from the country code on."""
    digits = raw.translate(None, _PUNCTUATION)
    plan = _PLANS.get(digits[:2]) or _PLANS.get(digits[:1]) or _PLANS.get(digits[:3])
    if not digits.isdigit() or not 4 <= len(digits) <= 17:
        return "unknown"
    if plan is None:
        return "none"
    code, regions = plan
    return _judge_national(code, regions, digits[len(code) :].decode())


def _judge_national(code: bytes, regions: tuple[str, ...], number: str) -> Judgement:
    prefix, lengths = _main_plan(code, regions[0])
    if prefix is not None and prefix.match(number):
        return "unknown"
    beginnings, bare = _shares(code, regions)
    begun = beginnings.match(number) if beginnings is not None else None
    own = begun.lastgroup if begun else None
    for region in bare:
        if own is not None and regions.index(own) < regions.index(region):
            break
        if _forms(code, region).fullmatch(number):
            return "valid"
    if own is not None and _forms(code, own).fullmatch(number):
        return "valid"
    return "possible" if len(number) in lengths else "none"


def _metadata(code: bytes, region: str) -> tuple[PhoneMetadata, PhoneNumberDesc]:
    """The region's plan, and what all its numbers have in common."""
    if region == _NON_GEOGRAPHIC:
        plan = PhoneMetadata.metadata_for_nongeo_region(int(code))
    else:
        plan = PhoneMetadata.metadata_for_region(region)
    if plan is None or plan.general_desc is None:
        raise LookupError(region)
    return plan, plan.general_desc


@lru_cache(512)
def _main_plan(code: bytes, region: str) -> tuple[re.Pattern[str] | None, frozenset[int]]:
    """The prefix that a parser may strip, and the lengths that are possible at all."""
    plan, general = _metadata(code, region)
    prefix = plan.national_prefix_for_parsing
    return (re.compile(prefix) if prefix else None), frozenset(
        general.possible_length + general.possible_length_local_only
    )


@lru_cache(512)
def _shares(code: bytes, regions: tuple[str, ...]) -> tuple[re.Pattern[str] | None, tuple[str, ...]]:
    """How the numbers of each region begin, where several share a code, and the regions that are not told so."""
    begin = {region: _metadata(code, region)[0].leading_digits for region in regions} if len(regions) > 1 else {}
    told = "|".join(f"(?P<{region}>{digits})" for region, digits in begin.items() if digits)
    return (re.compile(told) if told else None), tuple(region for region in regions if not begin.get(region))


@lru_cache(512)
def _forms(code: bytes, region: str) -> re.Pattern[str]:
    """Every form that the region's numbers have."""
    plan, general = _metadata(code, region)
    forms = "|".join(filter(None, (_form(getattr(plan, kind), general.possible_length) for kind in _KINDS)))
    return re.compile(f"(?=(?:{general.national_number_pattern})\\Z)(?:{forms or '(?!)'})")


def _form(kind: PhoneNumberDesc | None, general: tuple[int, ...]) -> str:
    """A kind of numbers as a pattern; "" for one that the plan does not have."""
    if kind is None or not kind.national_number_pattern or kind.possible_length == (-1,):
        return ""
    lengths = "|".join(f"\\d{{{length}}}" for length in kind.possible_length or general)
    return f"(?=(?:{lengths})\\Z)(?:{kind.national_number_pattern})"
